-- ARGV: time, the random half of the epoch, node, "claim" to fence all others, how many bytes of earlier epochs are kept
if not is_there() then
  return {GONE}
end
follow_history(redis.call('HGET', record, 'o'))
local epoch = struct.pack('>I4', next_counter()) .. ARGV[2]
if ARGV[4] == 'claim' then
  for _, field in ipairs(redis.call('HKEYS', record)) do
    if string.sub(field, 1, 1) == 'm' then
      redis.call('HDEL', record, field)
    end
  end
end
local epochs = string.sub(redis.call('HGET', record, 'E'), -tonumber(ARGV[5])) .. epoch
redis.call('HSET', record, 'E', epochs, 'm' .. epoch, '0 0 0 ' .. ARGV[3])
return {0, whole_record()}
