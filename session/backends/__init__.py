"""Ways to reach Redis. Nothing here knows what is stored."""
