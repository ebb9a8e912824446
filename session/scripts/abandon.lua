-- Removes the turn that a refused call began; takes one call off its number if it has other calls.
-- KEYS  1 turns   ARGV  1 turn
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if not stored then return 0 end
local start, total, calls, rest = string.match(stored, '^(%d+) (%d+) (%d+)(.*)$')
if not start or tonumber(calls) <= 1 then return redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %d %d', start, total, calls - 1) .. rest)
return 0
