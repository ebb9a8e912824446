"""Computes the AWS resources that a shop with a number of messages a day needs, and their cost, from measured inputs and
prices."""
