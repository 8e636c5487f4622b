-- ARGV: time, session, until when it counts, how many may count, how many of them are told
redis.call('ZREMRANGEBYSCORE', sessions, '-inf', text(now()))
if not redis.call('ZSCORE', sessions, session) and redis.call('ZCARD', sessions) >= tonumber(ARGV[4]) then
  return {REFUSED, redis.call('ZRANGE', sessions, 0, tonumber(ARGV[5]) - 1)}
end
redis.call('ZADD', sessions, 'GT', text(math.min(tonumber(ARGV[3]), 4503599627370496)), session)
local last = tonumber(redis.call('ZRANGE', sessions, -1, -1, 'WITHSCORES')[2])
redis.call('PEXPIREAT', sessions, text(last + SPACE_KEPT_MILLIS))
return {0}
