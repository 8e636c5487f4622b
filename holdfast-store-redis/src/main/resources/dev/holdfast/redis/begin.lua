-- ARGV: time, node, lease in milliseconds
if is_living() then
  return {REFUSED}
end
redis.call('ZREMRANGEBYSCORE', leases, '-inf', text(now()))
redis.call('DEL', inbox, bytes)
live_for(tonumber(ARGV[3]))
return {0}
