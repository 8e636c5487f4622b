-- ARGV: time, node
redis.call('ZREM', leases, node)
redis.call('DEL', inbox, bytes)
return {0}
