-- Ends a change: replaces the marker, with which it began, by the new copy of the changed preferences. KEYS 1 copy
-- ARGV 1 marker   2 new copy   3 ttl s of a copy   4 ttl s of a marker
-- If another change has begun or ended since, it is unknown which was last: the marker then stays, and no copy is stored.
if redis.pcall('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
  return 1
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[4])
return 0
