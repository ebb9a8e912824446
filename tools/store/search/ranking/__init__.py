"""From the evidence of titles to one order, the same for every backend."""
