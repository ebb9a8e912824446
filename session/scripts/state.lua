-- Writes the groups of session state in ARGV from `first` on. A group: name, time of the change (ms by Redis's clock),
-- number of fields, then each field and its value. A group whose stored change is later stays as it is.
local function remember(key, now, first)
  local ended = first <= #ARGV and tonumber(redis.call('HGET', key, 'ended') or nil) or 0
  while first <= #ARGV do
    local since, at = ARGV[first] .. '_at', math.min(now, tonumber(ARGV[first + 1]))
    local last = first + 2 + 2 * ARGV[first + 2]
    local known = tonumber(redis.call('HGET', key, since) or nil)
    local lasts = not known or known <= at or known > now  -- a clock that went back has said nothing true
    if lasts and (ended <= at or ended > now) then
      redis.call('HSET', key, since, string.format('%d', at), unpack(ARGV, first + 3, last))
    end
    first = last + 1
  end
end
