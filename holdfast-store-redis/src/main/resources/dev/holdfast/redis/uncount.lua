-- ARGV: time, session
redis.call('ZREM', sessions, session)
return {0}
