-- KEYS[1] is the record of a session, a hash: SessionHash names its fields. KEYS[2] is the set of its events, ordered by their
-- bytes: stream, offset, and what RedisCodec writes behind them.
local record, events = KEYS[1], KEYS[2]
local LISTENING = string.rep('\0', 12)

-- More than a node can have delivered to its clients while its acknowledged commits were not on the disk of the server.
local MOST_LOST_OFFSETS = 1048576

-- The same of joins: each epoch names the streams of calls that begin in it.
local MOST_LOST_EPOCHS = 65536

local function is_ahead(expires)
  return expires and tonumber(expires) > now()
end

local function is_there()
  return is_ahead(redis.call('HGET', record, 'x'))
end

-- The fields that name the present epochs, each before its value.
local function present()
  local found = {}
  if is_there() then
    for _, field in ipairs(redis.call('HKEYS', record)) do
      if string.sub(field, 1, 1) == 'm' then
        found[#found + 1] = field
        found[#found + 1] = redis.call('HGET', record, field)
      end
    end
  end
  return found
end

local function keep_until(expires)
  local at = text(math.min(tonumber(expires), 4503599627370496) + SPACE_KEPT_MILLIS)
  redis.call('PEXPIREAT', record, at)
  redis.call('PEXPIREAT', events, at)
end

local function latest_epoch()
  return string.sub(redis.call('HGET', record, 'E'), -8)
end

-- No epoch that comes has a lower counter than the field c says: the first one since which surely nothing was lost.
local function next_counter()
  local certain = redis.call('HGET', record, 'c')
  return math.max(struct.unpack('>I4', latest_epoch()) + 1, tonumber(certain))
end

-- The last offset of a stream, the highest that was trimmed, and whether it is known: from what the record has of it.
local function extent(kept)
  if not kept then
    return 0, 0, false
  end
  local last, trimmed = string.match(kept, '^(%d+) (%d+)$')
  return tonumber(last), tonumber(trimmed), true
end

-- Of the offsets above the highest that was trimmed each has its event: one that has none was lost, as by an eviction. Returns up to
-- where events are missing, trimmed or lost.
local function missing_through(id, last, trimmed)
  local low, high, place = trimmed, last, trimmed
  local to = '[' .. id .. struct.pack('>I8', last) .. '\255'
  while low < high do
    if redis.call('ZLEXCOUNT', events, '[' .. id .. struct.pack('>I8', place + 1), to) == last - place then
      high = place
    else
      low = place + 1
    end
    place = math.floor((low + high) / 2)
  end
  return high
end

-- All fields of the record and their values; what was lost of a stream counts as trimmed.
local function whole_record()
  local fields = redis.call('HGETALL', record)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 1) == 's' then
      local last, trimmed = extent(fields[i + 1])
      fields[i + 1] = text(last) .. ' ' .. text(missing_through(string.sub(fields[i], 2), last, trimmed))
    end
  end
  return fields
end

-- A server that has restarted, or took over from another one, may have lost what was acknowledged last. It shows in the id of its
-- replication history. Then the listening stream goes on far behind all offsets that clients can have seen, as after a trim, so
-- that none is given twice; and so do the epochs, the next of which is the first one since which surely nothing was lost. Returns
-- whether that is so.
local function follow_history(known)
  local about = redis.call('INFO', 'replication')
  -- cheaper than a pattern; the history before is there too, under another name
  if known and known ~= '' and string.find(about, 'master_replid:' .. known, 1, true) then
    return false
  end
  local history = string.match(about, 'master_replid:(%x+)') or ''
  if known == history then
    return false
  end
  if not known then
    redis.call('HSET', record, 'o', history)
    return false
  end
  local last = text(extent(redis.call('HGET', record, 's' .. LISTENING)) + MOST_LOST_OFFSETS)
  redis.call('HSET', record, 'o', history, 'c', text(next_counter() + MOST_LOST_EPOCHS), 's' .. LISTENING, last .. ' ' .. last)
  return true
end

-- A script can hand over some thousand values at once.
local function in_pieces(command, values)
  for first = 1, #values, 1000 do
    redis.call(command, record, unpack(values, first, math.min(first + 999, #values)))
  end
end
