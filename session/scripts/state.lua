-- Remembers what a conversation is about from `first` of ARGV on, by groups: a name, since when it is so (ms by Redis's clock),
-- how many fields, then each and its value. What is so since later stays, whoever wrote it.
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
