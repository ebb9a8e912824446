"""The customers' entry point ("door"): two functions that AWS runs in front of the agent, and a local gateway for both."""
