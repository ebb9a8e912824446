-- A token bucket. KEYS 1 bucket   ARGV 1 calls a second   2 burst. Returns the ms to wait, 0 when the call may pass.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local held = redis.call('HMGET', KEYS[1], 'tokens', 'refilled')
local tokens = burst * 1000
if held[1] then
  local refilled = tonumber(held[2])
  if refilled > now then
    -- the clock went back: the bucket refills from now on, and not only when that time has come again
    refilled = now
    redis.call('HSET', KEYS[1], 'refilled', now)
  end
  tokens = math.min(tokens, tonumber(held[1]) + (now - refilled) * rate)
end
if tokens < 1000 then return math.ceil((1000 - tokens) / rate) end
redis.call('HSET', KEYS[1], 'tokens', math.floor(tokens - 1000), 'refilled', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(burst * 1000 / rate))
return 0
