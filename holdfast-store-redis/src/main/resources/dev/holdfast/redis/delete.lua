-- ARGV: time, the epoch that may be present, or empty for any
local found = {}
if ARGV[2] == '' then
  -- a record that cannot be read is removed too
  local readable, members = pcall(present)
  found = readable and members or found
else
  found = present()
  for i = 1, #found, 2 do
    if found[i] ~= 'm' .. ARGV[2] then
      return {REFUSED}
    end
  end
end
redis.call('UNLINK', record, events)
redis.call('PUBLISH', record, '')
return {0, found}
