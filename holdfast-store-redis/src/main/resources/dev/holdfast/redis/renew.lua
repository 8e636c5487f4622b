-- ARGV: time, node, lease in milliseconds
if not is_living() then
  return {REFUSED, server_time()}
end
live_for(tonumber(ARGV[3]))
return {0, server_time()}
