-- ARGV: time
return {0, redis.call('ZRANGEBYSCORE', leases, '(' .. text(now()), '+inf')}
