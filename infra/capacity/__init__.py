"""Computes the AWS resources that a shop needs for a number of messages a day, and their cost."""
