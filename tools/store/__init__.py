"""The shop: its nouns, the ports through which they are reached, and their failures."""
