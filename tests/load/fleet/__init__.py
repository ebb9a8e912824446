"""A fleet of tasks, simulated: how many it takes, how quick it is, and what is lost when something goes."""
