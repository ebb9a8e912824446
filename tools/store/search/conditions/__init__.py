"""The one definition of conditions on titles, for every backend.

A new condition is a field of `tools.store.models.Conditions`, the fact that it checks in `check.Facts`, and a line in
`check.criteria`. Backends implement sales and authors themselves, over columns (embedded/columns.py) and as query clauses
(opensearch/dsl.py); tests compare both with `satisfies`.
"""
