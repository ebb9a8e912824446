-- Ends a change of what a copy is of. KEYS 1 copy
-- ARGV 1 mark that the change began with   2 new copy   3 ttl s of a copy   4 ttl s of a mark
-- Where another change has begun or ended since, neither knows which was last: the mark keeps all copies away for a moment.
if redis.pcall('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
  return 1
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[4])
return 0
