-- ARGV: time, node, lease in milliseconds
if not is_living() then
  return {REFUSED}
end
live_for(tonumber(ARGV[3]))
return {0}
