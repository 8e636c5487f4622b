-- ARGV: time, epoch, the number of the commit, how many events, stream, offset (0 for the next one) and rest of each, how many
-- trims, stream and offset (packed) of each, then the changes of the record: a letter, and what belongs to it
if not is_there() then
  return {GONE}
end
local epoch, number = ARGV[2], tonumber(ARGV[3])
local member = redis.call('HGET', record, 'm' .. epoch)
if not member then
  return {STALE, latest_epoch()}
end
local done, answered_last, answered_version, node = string.match(member, '^(%d+) (%d+) (%d+) (.*)$')
if number > 0 and number == tonumber(done) then
  return {0, tonumber(answered_last), tonumber(answered_version)}
end
if number > 0 and number ~= tonumber(done) + 1 then
  return {STALE, epoch}
end
follow_history()

local streams = {}
local function stream_of(id)
  local stream = streams[id]
  if not stream then
    local last, trimmed, known = extent(id)
    stream = {last = last, trimmed = trimmed, known = known}
    streams[id] = stream
  end
  return stream
end

-- every event has its place before the first one is written: what is refused leaves nothing
local at, placed = 5, {}
for i = 1, tonumber(ARGV[4]) do
  local id, offset = ARGV[at], tonumber(ARGV[at + 1])
  local stream = stream_of(id)
  if offset == 0 and id == LISTENING then
    offset = stream.last + 1
  elseif stream.known and offset ~= stream.last + 1 then
    return {STALE, epoch}
  end
  stream.last, stream.known, stream.changed = offset, true, true
  placed[i] = id .. struct.pack('>I8', offset) .. ARGV[at + 2]
  at = at + 3
end
for _, event in ipairs(placed) do
  redis.call('ZADD', events, 0, event)
end
if #placed > 0 and redis.call('PTTL', events) < 0 then
  keep_until(redis.call('HGET', record, 'x'))
end

local trims = tonumber(ARGV[at])
at = at + 1
for _ = 1, trims do
  local id, offset = ARGV[at], ARGV[at + 1]
  if redis.call('ZREMRANGEBYLEX', events, '[' .. id .. offset, '[' .. id .. offset .. '\255') > 0 then
    local stream = stream_of(id)
    local place = struct.unpack('>I8', offset)
    stream.trimmed = math.max(stream.trimmed, place)
    stream.changed, stream.may_be_over = true, true
  end
  at = at + 2
end

local version, journal_changed = tonumber(redis.call('HGET', record, 'V')), false
local change = {
  -- a call starts or goes on
  C = function(id, call)
    redis.call('HSET', record, 'k' .. id, call)
    return 2
  end,
  -- a call has ended
  D = function(id)
    redis.call('HDEL', record, 'k' .. id)
    stream_of(id).may_be_over = true
    return 1
  end,
  -- the journal gets a message, in the place of an earlier one under its key
  J = function(key, message)
    local before = redis.call('HGET', record, 'j' .. key)
    local place = before and string.sub(before, 1, 8) or struct.pack('>I8', redis.call('HINCRBY', record, 'J', 1))
    redis.call('HSET', record, 'j' .. key, place .. message)
    journal_changed = true
    return 2
  end,
  -- the journal loses a message
  K = function(key)
    redis.call('HDEL', record, 'j' .. key)
    journal_changed = true
    return 1
  end,
  -- the session expires at another time
  X = function(expires)
    redis.call('HSET', record, 'x', expires)
    keep_until(expires)
    return 1
  end,
  -- a field gets a value
  F = function(field, value)
    redis.call('HSET', record, field, value)
    return 2
  end,
}
while at <= #ARGV do
  at = at + 1 + change[ARGV[at]](ARGV[at + 1], ARGV[at + 2])
end

for id, stream in pairs(streams) do
  local over = stream.may_be_over
    and id ~= LISTENING
    and redis.call('HEXISTS', record, 'k' .. id) == 0
    and redis.call('ZLEXCOUNT', events, '[' .. id, '[' .. id .. '\255') == 0
  if over then
    redis.call('HDEL', record, 's' .. id, 'tR' .. id, 'tH' .. id, 'tB' .. id)
  elseif stream.changed then
    redis.call('HSET', record, 's' .. id, text(stream.last) .. ' ' .. text(stream.trimmed))
  end
end

if journal_changed then
  version = version + 1
  redis.call('HSET', record, 'V', text(version))
end
local last = stream_of(LISTENING).last
if number > 0 then
  redis.call('HSET', record, 'm' .. epoch, table.concat({text(number), text(last), text(version), node}, ' '))
end
redis.call('PUBLISH', record, '')
return {0, last, version}
