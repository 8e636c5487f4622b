-- ARGV: time, stream, the first offset (packed), how many bytes fit
local found = {}
if not is_there() then
  return {0, found}
end
local CHUNK = 32
local stream, from, room = ARGV[2], ARGV[3], tonumber(ARGV[4])
while true do
  local chunk = redis.call('ZRANGEBYLEX', events, '[' .. stream .. from, '[' .. stream .. '\255', 'LIMIT', 0, CHUNK)
  for _, event in ipairs(chunk) do
    -- behind stream and offset stand the epoch, the kind, and the length of the id or -1
    local length = #event >= 33 and struct.unpack('>i4', event, 30) or 0
    room = room - (#event - 33 - math.max(length, 0))
    if #found > 0 and room < 0 then
      return {0, found}
    end
    found[#found + 1] = event
  end
  if #chunk < CHUNK then
    return {0, found}
  end
  from = struct.pack('>I8', struct.unpack('>I8', chunk[CHUNK], 13) + 1)
end
