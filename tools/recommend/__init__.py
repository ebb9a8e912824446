"""Selection of titles to recommend to a customer, and the reasons given for them."""
