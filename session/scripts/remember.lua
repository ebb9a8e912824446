-- Writes what a process alone has known of a conversation. KEYS  1 session hash   ARGV  1 ttl ms   2 … groups of `state`
-- include state
local clock = redis.call('TIME')
remember(KEYS[1], clock[1] * 1000 + math.floor(clock[2] / 1000), 2)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
