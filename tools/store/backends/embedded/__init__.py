"""Backends inside this process: nothing to install, nothing to reach over a network."""
