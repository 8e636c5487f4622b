-- KEYS[1] is the set of the sessions of a principal that count, ordered by the time until which they do. ARGV[2] names one of them.
local sessions, session = KEYS[1], ARGV[2]
