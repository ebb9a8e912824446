-- Removes a key of another type than `kind`, whose commands would all fail: it then counts as absent and is written anew.
local function expect(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
end
