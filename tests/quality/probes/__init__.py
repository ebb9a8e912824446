"""Queries made from facts of whatever catalogue is given: what a search does with queries that nobody tuned it on.

A third of them is locked: its figures are printed apart, and its queries are never looked at.
"""
