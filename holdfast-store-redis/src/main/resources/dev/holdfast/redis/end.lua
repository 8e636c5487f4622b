-- ARGV: time, node
redis.call('ZREM', leases, node)
redis.call('DEL', inbox)
return {0}
