-- Records a call in the history (the last 20) and the totals, stores the full result of a shortened answer, writes state.
-- KEYS  1 session hash   2 history   3 whole results   ARGV  1 ttl ms   2 entry   3 succeeded 0|1   4 cache hit 0|1
--       5 latency ms   6 tokens   7 whole result, '' for none   8 … groups as in state.lua
-- include expect
-- include state
expect(KEYS[1], 'hash')
expect(KEYS[2], 'list')
expect(KEYS[3], 'list')
local ttl = ARGV[1]
redis.call('LPUSH', KEYS[2], ARGV[2])
redis.call('LTRIM', KEYS[2], 0, 19)
redis.call('HINCRBY', KEYS[1], 'calls', 1)
redis.call('HINCRBY', KEYS[1], 'latency_ms', ARGV[5])
redis.call('HINCRBY', KEYS[1], 'tokens_out', ARGV[6])
if ARGV[3] == '0' then redis.call('HINCRBY', KEYS[1], 'failures', 1) end
if ARGV[4] == '1' then redis.call('HINCRBY', KEYS[1], 'cache_hits', 1) end
local clock = redis.call('TIME')
remember(KEYS[1], clock[1] * 1000 + math.floor(clock[2] / 1000), 8)
if ARGV[7] ~= '' then
  redis.call('LPUSH', KEYS[3], ARGV[7])
  redis.call('LTRIM', KEYS[3], 0, 4)
  redis.call('PEXPIRE', KEYS[3], ttl)
end
redis.call('PEXPIRE', KEYS[1], ttl)
redis.call('PEXPIRE', KEYS[2], ttl)
return 1
