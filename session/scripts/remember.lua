-- Writes state of a session that Redis lacks. KEYS  1 session hash   ARGV  1 ttl ms   2 … groups as in state.lua
-- include expect
-- include state
expect(KEYS[1], 'hash')
local clock = redis.call('TIME')
remember(KEYS[1], clock[1] * 1000 + math.floor(clock[2] / 1000), 2)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
