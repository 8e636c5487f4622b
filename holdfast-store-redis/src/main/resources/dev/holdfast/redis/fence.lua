-- ARGV: time, epoch
if not is_there() then
  return {0, 0}
end
return {0, redis.call('HDEL', record, 'm' .. ARGV[2])}
