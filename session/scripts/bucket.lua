-- A token bucket in the fields `tokens` (thousandths, so that the hash holds integers) and `refilled` (ms) of a hash.
-- Takes a token: 0 when there was one, else the ms until there is.
local function take(key, now, rate, burst)
  local held = redis.call('HMGET', key, 'tokens', 'refilled')
  local tokens = burst * 1000
  if held[1] then
    local since = now - tonumber(held[2])
    if since < 0 then
      -- the clock went back: nobody knows how long it has been, so one call passes, and it counts from now on
      tokens = math.max(1000, tonumber(held[1]))
    else
      tokens = math.min(tokens, tonumber(held[1]) + since * rate)
    end
  end
  if tokens < 1000 then return math.ceil((1000 - tokens) / rate) end
  redis.call('HSET', key, 'tokens', math.floor(tokens - 1000), 'refilled', now)
  return 0
end
