"""What one search asks the cluster, in its two requests.

Everything is asked for twice where there are conditions: among the titles that satisfy them, for these are the answers, and
among all, for the best of these sets the floor that the answers have to reach (`tools.store.search.ranking.ranked`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tools.store.backends.opensearch.queries.conditions import filter_queries
from tools.store.backends.opensearch.queries.dsl import Json
from tools.store.backends.opensearch.queries.lexical import RECALL, anchor, lexical
from tools.store.backends.opensearch.queries.lookups import by_authors_of
from tools.store.backends.opensearch.queries.nearest import nearest, sense_of
from tools.store.models import CatalogQuery
from tools.store.search.arrays import Floats
from tools.store.search.query.parsed import ParsedQuery

AMONG_ALL = "among all: "
_OF_ALL = RECALL // 2
_DEEPER, _DEEPEST = RECALL // 2, 6
"""Each so many titles that are passed over, as much again is recalled, up to six times as much."""


class Searches:
    """`aliases` are keys that the title which the query points from may be known by."""

    def __init__(self, query: CatalogQuery, parsed: ParsedQuery, aliases: Sequence[str]) -> None:
        self._parsed, self._aliases = parsed, aliases
        self._asked = query.conditions
        self._allowed = filter_queries(query.conditions)
        self._size = RECALL * min(_DEEPEST, 1 + query.offset // _DEEPER)

    def by_words(self) -> dict[str, Json]:
        """By the name of what they find."""
        searches = lexical(self._parsed, self._allowed, self._size, self._asked)
        if self._allowed:
            every = lexical(self._parsed, [], _OF_ALL, self._asked)
            searches |= {AMONG_ALL + name: body for name, body in every.items()}
        if pointed := self._parsed.points_from:
            searches["anchor"] = anchor(pointed, self._aliases)
        return searches

    def by_meaning(self, vector: Floats | None, recalled: Collection[str], spellings: Collection[str]) -> dict[str, Json]:
        """What is near to `vector`, how near the `recalled` are, and the works of authors with these `spellings`."""
        searches: dict[str, Json] = {}
        if vector is not None:
            searches["near"] = nearest(vector, self._allowed, self._size)
            if self._allowed:
                searches[AMONG_ALL + "near"] = nearest(vector, [], _OF_ALL)
            if recalled:
                searches["senses"] = sense_of(vector, list(recalled))
        if spellings:
            searches["works"] = by_authors_of(sorted(spellings), self._allowed)
            if self._allowed:
                searches[AMONG_ALL + "works"] = by_authors_of(sorted(spellings), [])
        return searches
