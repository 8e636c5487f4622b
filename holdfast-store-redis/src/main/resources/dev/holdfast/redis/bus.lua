-- KEYS[1] is the set of all incarnations, ordered by the time at which their leases lapse. KEYS[2] is the inbox of the incarnation
-- that ARGV[2] names, a stream. KEYS[3] says how many bytes of messages have come into it so far, and how many of those the incarnation
-- has had, a hash.
local leases, inbox, bytes, node = KEYS[1], KEYS[2], KEYS[3], ARGV[2]

local function is_living()
  local lapses = redis.call('ZSCORE', leases, node)
  return lapses and tonumber(lapses) > now()
end

local function keep_inbox(lapses)
  redis.call('PEXPIREAT', inbox, text(lapses + SPACE_KEPT_MILLIS))
  redis.call('PEXPIREAT', bytes, text(lapses + SPACE_KEPT_MILLIS))
end

local function live_for(millis)
  local lapses = now() + millis
  -- a server without memory refuses a write that needs some, unless the script has written already
  keep_inbox(lapses)
  redis.call('ZADD', leases, text(lapses), node)
end
