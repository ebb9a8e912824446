"""Backends inside this process: nothing to install, and no network."""
