"""The shop's data models, the ports to its backends, their implementations, and their failures."""
