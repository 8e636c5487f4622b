-- ARGV: time
local found = {}
if is_there() then
  for _, field in ipairs(redis.call('HKEYS', record)) do
    if string.sub(field, 1, 1) == 'm' then
      found[#found + 1] = field
      found[#found + 1] = redis.call('HGET', record, field)
    end
  end
end
return {0, found}
