-- Stores a copy of preferences unless there is a copy or a marker. KEYS 1 copy   ARGV 1 copy   2 ttl s
-- include expect
expect(KEYS[1], 'string')
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2])
return 1
