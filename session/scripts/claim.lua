-- Claims an idempotency key. KEYS 1 record   ARGV 1 hash of tool and arguments   2 claimant   3 claim ttl ms
-- Returns {'new'} | {'done', recorded result} | {'running'} | {'other'} (the key was used with other arguments)
-- include expect
expect(KEYS[1], 'hash')
local held = redis.call('HMGET', KEYS[1], 'hash', 'result')
if not held[1] then
  redis.call('HSET', KEYS[1], 'hash', ARGV[1], 'by', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {'new'}
end
if held[1] ~= ARGV[1] then return {'other'} end
if held[2] then return {'done', held[2]} end
return {'running'}
