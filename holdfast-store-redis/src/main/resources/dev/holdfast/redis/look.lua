-- ARGV: time
if not is_there() then
  return {GONE}
end
return {0, whole_record()}
