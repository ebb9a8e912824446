"""A search of the catalogue in memory: filters, candidates, and what the ranking makes of them."""
