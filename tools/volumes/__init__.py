"""How volumes are found: of one title, the next of it, and all that come out in a month."""
