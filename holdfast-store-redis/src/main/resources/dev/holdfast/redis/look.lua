-- ARGV: time
if not is_there() then
  return {GONE}
end
-- whoever has joined before must find what the server has lost since
follow_history(redis.call('HGET', record, 'o'))
return {0, whole_record()}
