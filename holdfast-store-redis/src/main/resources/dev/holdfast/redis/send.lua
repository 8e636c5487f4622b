-- ARGV: time, node, how many messages an inbox holds, message
if not is_living() or redis.call('XLEN', inbox) >= tonumber(ARGV[3]) then
  return {REFUSED}
end
local lapses = tonumber(redis.call('ZSCORE', leases, node))
-- a server without memory takes this too, as the script has written already: the inbox is bounded, and read at once
keep_inbox(lapses)
redis.call('XADD', inbox, '*', 'm', ARGV[4])
-- the first message has made the inbox
keep_inbox(lapses)
return {0}
