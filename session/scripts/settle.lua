-- Settles a claim with a result to replay, or gives it up. KEYS 1 record
-- ARGV 1 claimant   2 ttl ms of a result   3 result, '' to give the claim up
--      4 SHA-1 of an unreadable result to replace, '' for none   5 hash of tool and arguments
local held = redis.call('HMGET', KEYS[1], 'by', 'result')
if held[1] ~= ARGV[1] then
  if ARGV[4] == '' or not held[2] or redis.sha1hex(held[2]) ~= ARGV[4] then return 0 end
end
if ARGV[3] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'hash', ARGV[5], 'by', ARGV[1], 'result', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
