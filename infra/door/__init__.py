"""The customers' way in: the two functions that AWS runs in front of the agent, and a local gateway that stands for both."""
