-- Adds the tokens of a call's answer to its turn, if the turn counts tokens. KEYS  1 turns   ARGV  1 turn   2 tokens
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local turn, spent = string.match(stored or '', '^(%d+ %d+ %d+ %d+) (%d+)$')
if not turn then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d', turn, spent + ARGV[2]))
return 1
