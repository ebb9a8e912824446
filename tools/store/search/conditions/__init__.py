"""Conditions that a title satisfies or not: the one definition for every backend.

A new condition is a field of `tools.store.models.Conditions`, the fact that it is about in `check.Facts`, and a line in
`check.criteria`. Each backend asks for sales and authors in its own terms, over columns (embedded/columns.py) and as a query
(opensearch/dsl.py); tests hold both against `satisfies`.
"""
