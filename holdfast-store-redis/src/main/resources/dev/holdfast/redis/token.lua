-- ARGV: time, epoch, the token's name, the value that it must have, the value that it gets
if not is_there() then
  return {GONE}
end
if redis.call('HEXISTS', record, 'm' .. ARGV[2]) == 0 then
  return {STALE, latest_epoch()}
end
-- whoever begins to read must find what the server has lost
follow_history(redis.call('HGET', record, 'o'))
local token = redis.call('HGET', record, 't' .. ARGV[3]) or '0'
if token == ARGV[4] then
  token = ARGV[5]
  if token ~= ARGV[4] then
    redis.call('HSET', record, 't' .. ARGV[3], token)
  end
end
return {0, token}
