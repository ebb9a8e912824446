"""Who hears that something has changed: clients whose own list is another one, here and on every replica."""
