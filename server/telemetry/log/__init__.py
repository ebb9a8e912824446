"""The log: lines that nobody waits for, and not more of a kind than anyone reads."""
