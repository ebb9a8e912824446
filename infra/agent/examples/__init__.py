"""What `StoreTools` does, in few lines, for agents that are not made with Strands."""
