-- ARGV: time, node, how many messages an inbox holds, message
if not is_living() or redis.call('XLEN', inbox) >= tonumber(ARGV[3]) then
  return {REFUSED}
end
redis.call('XADD', inbox, '*', 'm', ARGV[4])
keep_inbox(tonumber(redis.call('ZSCORE', leases, node)))
return {0}
