"""Tools of installed packages, found by entry point; loaded at the start and again on request."""
