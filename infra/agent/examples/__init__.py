"""Short equivalents of `StoreTools` for agents that are not made with Strands."""
