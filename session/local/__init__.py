"""What this process knows by itself: for when Redis is away, and for what it did not take."""
