-- ARGV: time, node, the least id that it has not had yet, how many bytes it has had so far
redis.call('XTRIM', inbox, 'MINID', ARGV[3])
-- a node that has ended leaves nothing; a server without memory takes this too, as the script has written already
if redis.call('EXISTS', bytes) == 1 then
  redis.call('HSET', bytes, 'had', ARGV[4])
  -- a server that has lost messages, or the count of them, counts right again from here on
  if redis.call('XLEN', inbox) == 0 then
    redis.call('HSET', bytes, 'come', ARGV[4])
  end
end
return {0}
