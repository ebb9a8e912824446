"""The AWS resources that a shop with a number of messages a day needs, and their cost, computed from measured inputs and
prices."""
