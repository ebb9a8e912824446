-- Records the end of a call, where only the time inside calls counts against the turn. KEYS  1 turns   ARGV  1 turn
local name = 'busy:' .. ARGV[1]
local busy, calls = string.match(redis.call('HGET', KEYS[1], name) or '', '^(%d+) (%d+)$')
if not busy then return 0 end
local clock, left = redis.call('TIME'), math.max(0, calls - 1)
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('HSET', KEYS[1], name, string.format('%d %d', left == 0 and now or busy, left))
return 1
