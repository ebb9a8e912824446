-- A token bucket in the fields `tokens` (thousandths, so that the hash holds integers) and `refilled` (ms) of a hash.
-- Takes `cost` tokens (at most `burst`) and returns 0, or takes none and returns the ms until there are enough.
local function take(key, now, rate, burst, cost)
  local wanted = math.min(cost, burst) * 1000
  local held = redis.call('HMGET', key, 'tokens', 'refilled')
  local tokens = burst * 1000
  if held[1] then
    local since = now - tonumber(held[2])
    if since < 0 then
      -- the clock went back, so the time that has passed is unknown: one call passes, and refilling starts now
      tokens = math.max(wanted, tonumber(held[1]))
    else
      tokens = math.min(tokens, tonumber(held[1]) + since * rate)
    end
  end
  if tokens < wanted then return math.ceil((wanted - tokens) / rate) end
  redis.call('HSET', key, 'tokens', math.floor(tokens - wanted), 'refilled', now)
  return 0
end
