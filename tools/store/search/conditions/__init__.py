"""Conditions that a title satisfies or not: the one definition for every backend.

    check       conditions, read once and held against many titles
    facts       all that is kept of a title to hold it against them
    sales       how it is sold, and at which price on which days
    days        days as numbers

A new condition is a field of `tools.store.models.Conditions`, the fact that it is about in `Facts`, and a line in `Check`;
each backend asks for it in its own terms besides, over columns (embedded/searching/conditions.py) and as queries
(opensearch/queries/conditions.py). Tests hold both against `satisfies`.
"""
