-- Begins a call: checks the session's rate limit, starts or continues the turn, reads the session's state. By Redis's clock.
-- KEYS  1 session hash   2 hash of its turns: TURN -> "START TOTAL CALLS" in ms, followed by " TOKENS SPENT" if tokens are
--       counted; where only the time inside calls counts also "busy:TURN" -> "UNTIL RUNNING": the number of running calls,
--       and the time in ms by which the last of them has to end, or has ended
-- ARGV  1 session ttl ms, 0 without a session   2 turn   3 named 0|1   4 age ms of the turn as the process knows it
--       5 age ms of this call   6 configured total ms   7 stated ms left, -1 for none   8 reserve ms   9 floor ms
--       10 ms after its end when a turn is forgotten   11 limit: calls a second, 0 for off   12 limit: burst
--       13 limit: how many calls this one counts for   14 configured tokens, -1 for none   15 stated tokens left, -1 for none
--       16 ms that the call may take where only the time inside calls counts, else 0   17 ms of the longest pause then
--       18 names of tools' own fields to read, spaces between   19 … groups of state that Redis lacks, as in state.lua
-- Returns {retry_after_ms} if the call is refused (no turn is started), else {0, elapsed, total, renewed 0|1, now, tokens or
-- -1, spent, and the session's fields in the order of `fields` below, nil for an absent one}
-- include expect
-- include bucket
-- include state
expect(KEYS[1], 'hash')
expect(KEYS[2], 'hash')
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ttl = tonumber(ARGV[1])
local named = ARGV[3] == '1'
local age, call_age = tonumber(ARGV[4]), tonumber(ARGV[5])
local configured, stated = tonumber(ARGV[6]), tonumber(ARGV[7])
local reserve, floor, forget = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local rate, burst, cost = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local tokens, stated_tokens, spent = tonumber(ARGV[14]), tonumber(ARGV[15]), 0

local remembered = {}
if ttl > 0 then
  local wait = rate > 0 and take(KEYS[1], now, rate, burst, cost) or 0
  if wait > 0 then return {wait} end
  remember(KEYS[1], now, 19)
  local fields = {'ids', 'query', 'by', 'title_id', 'title', 'order_id', 'listened', 'ended'}
  for field in string.gmatch(ARGV[18] or '', '%S+') do fields[#fields + 1] = field end
  remembered = redis.call('HMGET', KEYS[1], unpack(fields))
end

local start, total, calls = now - age, configured, 0
local stored = redis.call('HGET', KEYS[2], ARGV[2])
local known = false
local longest, pause, busy, under_way = tonumber(ARGV[16]) or 0, 0, 0, 0
if longest > 0 then
  local b, n = string.match(redis.call('HGET', KEYS[2], 'busy:' .. ARGV[2]) or '', '^(%d+) (%d+)$')
  busy, under_way = tonumber(b) or now, tonumber(n) or 0
  pause = math.max(0, now - call_age - busy)
  if pause > 0 then under_way = 0 end
end
if stored and pause <= (tonumber(ARGV[17]) or 0) then
  local s, t, c, k, u = string.match(stored, '^(%d+) (%d+) (%d+) ?(%d*) ?(%d*)$')
  s, t = s and s + pause, tonumber(t)
  if s and now <= s + t + forget then
    known, start, total, calls = true, math.min(s, start), t, tonumber(c)
    tokens, spent = tonumber(k) or tokens, tonumber(u) or 0
  end
end
local elapsed = now - start
if stated >= 0 then total = math.min(total, elapsed + stated) end
local renewed = 0
if not named and total - elapsed - reserve <= floor and (known or age > call_age) then
  -- The process may have replaced the turn already; the age that it knows is then that of the new turn.
  elapsed = configured - age - reserve > floor and age or call_age
  renewed, start, total, calls = 1, now - elapsed, configured, 0
  tokens, spent = tonumber(ARGV[14]), 0
  if stated >= 0 then total = math.min(total, elapsed + stated) end
end
if stated_tokens >= 0 then tokens = tokens < 0 and spent + stated_tokens or math.min(tokens, spent + stated_tokens) end
local held_turns, full = redis.call('HLEN', KEYS[2]), 16
while full < held_turns do full = full * 2 end
if not known and held_turns == full then
  -- Removes expired turns only at 16, 32, 64 … turns, so that a session with many live turns does not pay at each new one.
  local all = redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    local s, t = string.match(all[i + 1], '^(%d+) (%d+)')
    if not s or now > s + t + forget then redis.call('HDEL', KEYS[2], all[i]) end
  end
end
local counted = tokens < 0 and '' or string.format(' %d %d', tokens, spent)
redis.call('HSET', KEYS[2], ARGV[2], string.format('%d %d %d', start, total, calls + 1) .. counted)
redis.call('PEXPIRE', KEYS[2], math.max(ttl, total - elapsed + forget))
if longest > 0 then
  redis.call('HSET', KEYS[2], 'busy:' .. ARGV[2], string.format('%d %d', math.max(busy, now + longest), under_way + 1))
end
-- Comes after the writes that need memory: a Redis out of memory refuses them only in a script that has written nothing yet.
if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
return {0, elapsed, total, renewed, now, tokens, spent, unpack(remembered)}
