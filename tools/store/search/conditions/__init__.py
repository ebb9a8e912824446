"""Conditions that a title satisfies or not: the one definition for every backend.

A new condition is a field of `tools.store.models.Conditions`, the fact that it is about in `check.Facts`, and a line in
`check.Check`. Each backend adds it in its own terms, over columns (embedded/engine.py) and as a query (opensearch/dsl.py);
tests hold both against `satisfies`.
"""
