-- ARGV: time, epoch, the number of the commit, how many events, stream, offset (0 for the next one) and rest of each, how many
-- trims, stream and offset (packed) of each, then the changes of the record: a letter, and what belongs to it
local call, match = redis.call, string.match
local epoch, number, event_count = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local trims_at = 6 + 3 * event_count
local trim_count = tonumber(ARGV[trims_at - 1])

-- Redis is one thread, and runs this twice for each call: a command costs about a microsecond, a table or a pattern a tenth of one.
-- So what most commits need is read by one command, and what they change is written by one: fields as they were read, false where
-- there is none, and as they become, false where they go.
local own, listening = 'm' .. epoch, 's' .. LISTENING
local fields = {'x', own, 'V', listening}
if event_count > 0 then
  fields[5] = 's' .. ARGV[5]
end
if trim_count > 0 then
  fields[#fields + 1] = 's' .. ARGV[trims_at]
  fields[#fields + 1] = 'k' .. ARGV[trims_at]
end
local found = call('HMGET', record, unpack(fields))
local expires, present, version = found[1], found[2], found[3]

if not is_ahead(expires) then
  return {GONE}
end
if not present then
  return {STALE, latest_epoch()}
end
local done, node = match(present, '^(%d+) %d+ %d+ (.*)$')
if number > 0 and number ~= done + 1 then
  if number == tonumber(done) then
    local answered_last, answered_version = match(present, '^%d+ (%d+) (%d+)')
    return {0, tonumber(answered_last), tonumber(answered_version)}
  end
  return {STALE, epoch}
end

local kept, changed = {[listening] = found[4]}, {}
for i = 5, #fields do
  kept[fields[i]] = found[i]
end

local function get(field)
  local value = changed[field]
  if value == nil then
    value = kept[field]
  end
  if value == nil then
    value = call('HGET', record, field)
    kept[field] = value
  end
  return value
end

local streams = {}
local function stream_of(id)
  local stream = streams[id]
  if not stream then
    local last, trimmed, known = extent(get('s' .. id))
    stream = {
      last = last,
      trimmed = trimmed,
      known = known,
      changed = false,
      has_events = false,
      has_grown = false,
      may_be_over = false,
      is_empty = false
    }
    streams[id] = stream
  end
  return stream
end

-- every event has its place before the first one is written: what is refused leaves nothing
local at, placed = 5, {}
for i = 1, event_count do
  local id, offset = ARGV[at], tonumber(ARGV[at + 1])
  -- only here the server gives offsets that clients may have seen before; joins and tokens look at the history too
  if id == LISTENING and not streams[id] and follow_history(call('HGET', record, 'o')) then
    kept[listening] = nil
  end
  local stream = stream_of(id)
  if offset == 0 and id == LISTENING then
    offset = stream.last + 1
  elseif stream.known and offset ~= stream.last + 1 and offset ~= stream.last + 1 + MOST_LOST_OFFSETS then
    -- not even by an heir, who leaves out what may be lost
    return {STALE, epoch}
  end
  stream.last, stream.known, stream.changed, stream.has_events, stream.has_grown = offset, true, true, true, true
  placed[i] = id .. struct.pack('>I8', offset) .. ARGV[at + 2]
  at = at + 3
end
for i = 1, event_count do
  call('ZADD', events, 0, placed[i])
end

-- where the set of events loses one that this commit has not brought, it was there before, and has its time
local was_there = false
at = trims_at
for _ = 1, trim_count do
  local id, offset = ARGV[at], ARGV[at + 1]
  local member = id .. offset
  local removed = call('ZREMRANGEBYLEX', events, '[' .. member, '[' .. member .. '\255') > 0
  local stream, place = stream_of(id), struct.unpack('>I8', offset)
  -- one that the server has lost before is trimmed all the same
  if removed or (stream.known and place > stream.trimmed and place <= stream.last) then
    was_there = was_there or (removed and not stream.has_grown)
    -- nothing is left of a stream that had one event in all
    stream.is_empty = stream.known and stream.last == 1
    stream.trimmed = math.max(stream.trimmed, place)
    stream.changed, stream.may_be_over, stream.has_events = true, true, false
  end
  at = at + 2
end
if event_count > 0 and not was_there and call('PTTL', events) < 0 then
  keep_until(expires)
end

local journal_changed = false
local argument_count = #ARGV
while at <= argument_count do
  local letter, first = ARGV[at], ARGV[at + 1]
  if letter == 'C' then
    -- a call starts or goes on
    changed['k' .. first] = ARGV[at + 2]
    at = at + 3
  elseif letter == 'D' then
    -- a call has ended
    changed['k' .. first] = false
    stream_of(first).may_be_over = true
    if ARGV[at + 2] ~= '' then
      changed['a' .. first] = ARGV[at + 2]
    end
    at = at + 3
  elseif letter == 'J' then
    -- the journal gets a message, in the place of an earlier one under its key
    local before = get('j' .. first)
    local place = before and string.sub(before, 1, 8) or struct.pack('>I8', call('HINCRBY', record, 'J', 1))
    changed['j' .. first] = place .. ARGV[at + 2]
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
    changed[first] = ARGV[at + 2]
    at = at + 3
  end
end

local put, gone = {}, {}
for id, stream in pairs(streams) do
  local over = stream.may_be_over
    and not stream.has_events
    and id ~= LISTENING
    and not get('k' .. id)
    and (stream.is_empty or call('ZLEXCOUNT', events, '[' .. id, '[' .. id .. '\255') == 0)
  if over then
    local count = #gone
    gone[count + 1], gone[count + 2], gone[count + 3], gone[count + 4] = 's' .. id, 'tR' .. id, 'tH' .. id, 'tB' .. id
    gone[count + 5], changed['a' .. id] = 'a' .. id, nil
  elseif stream.changed then
    put[#put + 1] = 's' .. id
    put[#put + 1] = text(stream.last) .. ' ' .. text(stream.trimmed)
  end
end

if journal_changed then
  version = text(version + 1)
  changed.V = version
end
local last = streams[LISTENING] and text(streams[LISTENING].last) or match(found[4] or '0', '^%d+')
if number > 0 then
  changed[own] = ARGV[3] .. ' ' .. last .. ' ' .. version .. ' ' .. node
end
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
call('PUBLISH', record, '')
return {0, tonumber(last), tonumber(version)}
