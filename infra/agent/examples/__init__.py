"""The manners of `StoreTools` in few lines, for agents that are not made with Strands."""
