"""How the store's nouns look in a result."""
