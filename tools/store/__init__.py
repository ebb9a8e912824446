"""What the shop is made of: its nouns, the ports through which they are reached, and what may fail there."""
