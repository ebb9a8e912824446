-- A token bucket in the fields `tokens` (thousandths, so that the hash holds integers) and `refilled` (ms) of a hash.
-- Takes `cost` tokens, at most `burst`: 0 when there were as many, else the ms until there are.
local function take(key, now, rate, burst, cost)
  local wanted = math.min(cost, burst) * 1000
  local held = redis.call('HMGET', key, 'tokens', 'refilled')
  local tokens = burst * 1000
  if held[1] then
    local since = now - tonumber(held[2])
    if since < 0 then
      -- the clock went back: nobody knows how long it has been, so one call passes, and it counts from now on
      tokens = math.max(wanted, tonumber(held[1]))
    else
      tokens = math.min(tokens, tonumber(held[1]) + since * rate)
    end
  end
  if tokens < wanted then return math.ceil((wanted - tokens) / rate) end
  redis.call('HSET', key, 'tokens', math.floor(tokens - wanted), 'refilled', now)
  return 0
end
