-- Removes a session and returns how many keys it had. Keeps the time of the removal, for processes that know the session.
-- KEYS  1 session hash   2, 3, 4 everything else of it   ARGV  1 ttl ms of that time
redis.pcall('HDEL', KEYS[1], 'ended')
local removed = redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
local clock = redis.call('TIME')
redis.call('HSET', KEYS[1], 'ended', string.format('%d', clock[1] * 1000 + math.floor(clock[2] / 1000)))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return removed
