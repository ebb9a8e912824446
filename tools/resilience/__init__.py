"""What stands between a call and a backend: breaker › bulkhead › retry › attempt deadline."""
