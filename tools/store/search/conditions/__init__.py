"""Defines when a title meets a search condition, such as genre or price, for every backend.

Each backend implements the conditions on format, price, stock and authors itself (embedded/columns.py and catalog.py,
opensearch/dsl.py); tests compare both backends with `check.satisfies`. CONTRIBUTING.md says how to add a condition."""
