-- ARGV: time, the epoch that may be present, or empty for any
if ARGV[2] ~= '' and is_there() then
  for _, field in ipairs(redis.call('HKEYS', record)) do
    if string.sub(field, 1, 1) == 'm' and field ~= 'm' .. ARGV[2] then
      return {REFUSED}
    end
  end
end
redis.call('UNLINK', record, events)
redis.call('PUBLISH', record, '')
return {0}
