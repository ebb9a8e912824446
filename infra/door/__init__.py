"""The way in for customers: the two functions that AWS runs before the agent, and what stands for all of it here."""
