-- ARGV: time, epoch, node, when it expires, then the fields of the record and their values
if is_there() then
  return {REFUSED}
end
if redis.call('EXISTS', record, events) > 0 then
  redis.call('UNLINK', record, events)
end
redis.call('HSET', record, 'x', ARGV[4], 'E', ARGV[2], 'm' .. ARGV[2], '0 0 0 ' .. ARGV[3], 'c', '1', 'V', '0')
for i = 5, #ARGV, 2 do
  redis.call('HSET', record, ARGV[i], ARGV[i + 1])
end
follow_history(false)
keep_until(ARGV[4])
return {0}
