"""Defines when a title meets a search condition, such as genre or price, for every backend.

To add a condition, add a field to `tools.store.models.Conditions`, a line to `check.criteria`, and a wording to wording.py.
Add a new fact to `check.Facts`, embedded/columns.py, and opensearch/documents.py and definition.py. Each backend implements
the conditions on format, price, stock and authors itself (embedded/columns.py and catalog.py, opensearch/dsl.py). Tests
compare both backends with `check.satisfies`."""
