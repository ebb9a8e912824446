"""Defines when a title meets a search condition, such as genre or price, for every backend.

To add a condition, add a field to `tools.store.models.Conditions`, the fact that it checks to `check.Facts`, and a line to
`check.criteria`. Each backend implements the conditions on format, price, stock and authors itself: over columns
(embedded/columns.py) and as query clauses (opensearch/dsl.py). Tests compare both backends with `check.satisfies`.
"""
