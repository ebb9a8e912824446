"""A connection as bytes: its parser, its time, and the count of all of them."""
