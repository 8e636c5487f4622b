-- ARGV: time, epoch, the number of the commit, how many events, stream, offset (0 for the next one) and rest of each, how many
-- trims, stream and offset (packed) of each, then the changes of the record: a letter, and what belongs to it
local epoch, number, event_count = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local trims_at = 6 + 3 * event_count
local trim_count = tonumber(ARGV[trims_at - 1])

-- Each command costs a microsecond beside what it does. So what most commits need is read by one, and what they change is written by
-- one: fields as they were read, false where there is none, and as they become, false where they go.
local kept, changed = {}, {}

local function get(field)
  local value = changed[field]
  if value == nil then
    value = kept[field]
  end
  if value == nil then
    value = redis.call('HGET', record, field)
    kept[field] = value
  end
  return value
end

local own = 'm' .. epoch
local fields = {'x', own, 'V', 'o', 's' .. LISTENING}
if event_count > 0 then
  fields[#fields + 1] = 's' .. ARGV[5]
end
if trim_count > 0 then
  fields[#fields + 1] = 's' .. ARGV[trims_at]
  fields[#fields + 1] = 'k' .. ARGV[trims_at]
end
for i, value in ipairs(redis.call('HMGET', record, unpack(fields))) do
  kept[fields[i]] = value
end

if not is_ahead(kept.x) then
  return {GONE}
end
if not kept[own] then
  return {STALE, latest_epoch()}
end
local done, answered_last, answered_version, node = string.match(kept[own], '^(%d+) (%d+) (%d+) (.*)$')
if number > 0 and number == tonumber(done) then
  return {0, tonumber(answered_last), tonumber(answered_version)}
end
if number > 0 and number ~= tonumber(done) + 1 then
  return {STALE, epoch}
end
if follow_history(kept.o) then
  kept['s' .. LISTENING] = nil
end

local streams = {}
local function stream_of(id)
  local stream = streams[id]
  if not stream then
    local last, trimmed, known = extent(get('s' .. id))
    stream = {last = last, trimmed = trimmed, known = known}
    streams[id] = stream
  end
  return stream
end

-- every event has its place before the first one is written: what is refused leaves nothing
local at, placed = 5, {}
for i = 1, event_count do
  local id, offset = ARGV[at], tonumber(ARGV[at + 1])
  local stream = stream_of(id)
  if offset == 0 and id == LISTENING then
    offset = stream.last + 1
  elseif stream.known and offset ~= stream.last + 1 then
    return {STALE, epoch}
  end
  stream.last, stream.known, stream.changed, stream.has_events = offset, true, true, true
  placed[i] = id .. struct.pack('>I8', offset) .. ARGV[at + 2]
  at = at + 3
end
for _, event in ipairs(placed) do
  redis.call('ZADD', events, 0, event)
end
if event_count > 0 and redis.call('PTTL', events) < 0 then
  keep_until(kept.x)
end

at = trims_at
for _ = 1, trim_count do
  local id, offset = ARGV[at], ARGV[at + 1]
  if redis.call('ZREMRANGEBYLEX', events, '[' .. id .. offset, '[' .. id .. offset .. '\255') > 0 then
    local stream = stream_of(id)
    local place = struct.unpack('>I8', offset)
    -- nothing is left of a stream that had one event in all
    stream.is_empty = stream.known and stream.last == 1
    stream.trimmed = math.max(stream.trimmed, place)
    stream.changed, stream.may_be_over, stream.has_events = true, true, false
  end
  at = at + 2
end

local journal_changed = false
while at <= #ARGV do
  local letter, first, second = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if letter == 'C' then
    -- a call starts or goes on
    changed['k' .. first] = second
    at = at + 3
  elseif letter == 'D' then
    -- a call has ended
    changed['k' .. first] = false
    stream_of(first).may_be_over = true
    at = at + 2
  elseif letter == 'J' then
    -- the journal gets a message, in the place of an earlier one under its key
    local before = get('j' .. first)
    local place = before and string.sub(before, 1, 8) or struct.pack('>I8', redis.call('HINCRBY', record, 'J', 1))
    changed['j' .. first] = place .. second
    journal_changed = true
    at = at + 3
  elseif letter == 'K' then
    -- the journal loses a message
    changed['j' .. first] = false
    journal_changed = true
    at = at + 2
  elseif letter == 'X' then
    -- the session expires at another time
    changed.x = first
    keep_until(first)
    at = at + 2
  else
    -- F: a field gets a value
    changed[first] = second
    at = at + 3
  end
end

for id, stream in pairs(streams) do
  local over = stream.may_be_over
    and not stream.has_events
    and id ~= LISTENING
    and not get('k' .. id)
    and (stream.is_empty or redis.call('ZLEXCOUNT', events, '[' .. id, '[' .. id .. '\255') == 0)
  if over then
    for _, letter in ipairs({'s', 'tR', 'tH', 'tB'}) do
      changed[letter .. id] = false
    end
  elseif stream.changed then
    changed['s' .. id] = text(stream.last) .. ' ' .. text(stream.trimmed)
  end
end

local version = tonumber(kept.V)
if journal_changed then
  version = version + 1
  changed.V = text(version)
end
local last = stream_of(LISTENING).last
if number > 0 then
  changed[own] = table.concat({ARGV[3], text(last), text(version), node}, ' ')
end

local put, gone = {}, {}
for field, value in pairs(changed) do
  if value then
    put[#put + 1] = field
    put[#put + 1] = value
  else
    gone[#gone + 1] = field
  end
end
-- a server without memory refuses a write that needs some, unless the script has written already
in_pieces('HDEL', gone)
in_pieces('HSET', put)
redis.call('PUBLISH', record, '')
return {0, last, version}
