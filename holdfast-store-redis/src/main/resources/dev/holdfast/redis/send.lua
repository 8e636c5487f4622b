-- ARGV: time, node, how many messages an inbox holds, how many bytes, message
local function is_full()
  if redis.call('XLEN', inbox) >= tonumber(ARGV[3]) then
    return true
  end
  local come, had = unpack(redis.call('HMGET', bytes, 'come', 'had'))
  return tonumber(come or 0) - tonumber(had or 0) >= tonumber(ARGV[4])
end

if not is_living() or is_full() then
  return {REFUSED}
end
local lapses = tonumber(redis.call('ZSCORE', leases, node))
-- a server without memory takes this too, as the script has written already: the inbox is bounded, and read at once
keep_inbox(lapses)
redis.call('XADD', inbox, '*', 'm', ARGV[5])
redis.call('HINCRBY', bytes, 'come', #ARGV[5])
-- the first message has made the inbox
keep_inbox(lapses)
return {0}
