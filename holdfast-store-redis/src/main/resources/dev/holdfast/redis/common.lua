-- How an answer begins, beside 0: the session is not there, the epoch is not present, nothing was done.
local GONE, STALE, REFUSED = 1, 2, 3

-- Redis gives the space of something back this long after its time.
local SPACE_KEPT_MILLIS = 60000

local function server_time()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- ARGV[1] is the time in milliseconds since 1970, or empty for that of the server.
local function now()
  return ARGV[1] ~= '' and tonumber(ARGV[1]) or server_time()
end

-- A whole number as text: tostring rounds large ones.
local function text(number)
  return string.format('%d', number)
end
