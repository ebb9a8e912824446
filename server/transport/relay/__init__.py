"""Sessions on any replica: a request that reaches another process than the one that holds its session is passed on to it."""
