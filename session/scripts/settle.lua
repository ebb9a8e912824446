-- Settles a claim with a result to replay, or gives it up. KEYS 1 record
-- ARGV 1 claimant   2 ttl ms of a result   3 result, '' to give the claim up
if redis.call('HGET', KEYS[1], 'by') ~= ARGV[1] then return 0 end
if ARGV[3] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'result', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
