-- KEYS[1] is the set of the sessions of a principal that count, ordered by the time until which they do. ARGV[2] names one of them.
local sessions, session = KEYS[1], ARGV[2]
local REFUSED = 3

-- Redis gives the space of the set back this long after the last session counts.
local SPACE_KEPT_MILLIS = 60000
