-- ARGV: time
return {0, present()}
