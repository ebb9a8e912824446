-- Checks a caller's rate limit. KEYS 1 bucket   ARGV 1 calls a second   2 burst   3 how many calls this one counts for.
-- Returns the ms to wait, 0 when the call may pass.
-- include expect
-- include bucket
expect(KEYS[1], 'hash')
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local rate, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local wait = take(KEYS[1], now, rate, burst, cost)
if wait == 0 then redis.call('PEXPIRE', KEYS[1], math.ceil(burst * 1000 / rate)) end
return wait
