"""The popular titles as they are searched while the catalogue is away: by their names and authors, and by the conditions.

Titles come without what they are sold for: what is asked of prices and stock is met by none of them here.

What titles are compared by is made once, when they are taken over. A search then costs a pass or two over some hundred
titles, since it runs on the event loop, in the share of a call that is kept back for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from tools.store.catalog.beginnings import authors_by_beginning, titles_by_beginning
from tools.store.catalog.names_at_hand import NamesAtHand
from tools.store.models import Conditions, Title
from tools.store.search.conditions.check import Check
from tools.store.search.conditions.facts import Facts
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.names import asked_names
from tools.store.search.ranking.weights import Weights
from tools.store.search.titles.name_table import NameTable
from tools.store.search.titles.names import NameKeys
from tools.store.search.titles.people import AskedName, AuthorKeys

LONGEST_NAME = 200
"""Characters. What is longer describes a story, or is no question at all, and is not compared with names."""
_WEIGHTS = Weights()


class PopularIndex:
    """Titles, the most popular first. Takes about half a millisecond a title to make. Read only."""

    def __init__(self, titles: Sequence[Title] = ()) -> None:
        self.titles = tuple(titles)
        self.by_id = {title.title_id: title for title in self.titles}
        self._facts = [Facts.of(title) for title in self.titles]
        self._credits = [_credits(facts.authors) for facts in self._facts]
        self._names = NameTable(map(NameKeys.of, self.titles))
        self.at_hand = NamesAtHand(self.titles)
        self.titles_beginning = titles_by_beginning(self.titles)
        self.authors_beginning = authors_by_beginning(self.titles)

    def matching(self, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """The most popular titles that satisfy the conditions, exactly."""
        return tuple(self.titles[position] for position in islice(self._fitting(conditions), limit))

    def called(self, query: str, parser: QueryParser, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """The titles that the query is a name of, in any script and with a typo or two, best match first, then those of the
        author that it names; all of them satisfy the conditions."""
        if not self.titles or len(query) > LONGEST_NAME:
            return ()
        parsed = parser.parse(query)
        positions = dict.fromkeys((*self._named(parsed, conditions), *self._by_author(parsed, conditions)))
        return tuple(self.titles[position] for position in islice(positions, limit))

    def _named(self, parsed: ParsedQuery, conditions: Conditions) -> list[int]:
        near = np.maximum(
            self._names.likeness(asked_names(parsed, _WEIGHTS)), self._names.spelled_in_katakana(parsed.subject)
        )
        alike = [int(position) for position in np.flatnonzero(near >= _WEIGHTS.name_threshold)]
        fitting = set(self._fitting(conditions, alike))
        return sorted(fitting, key=lambda position: (-near[position], position))

    def _by_author(self, parsed: ParsedQuery, conditions: Conditions) -> Iterator[int]:
        asked = parsed.author or parsed.subject
        return self._fitting(replace(conditions, author=asked)) if asked and conditions.author is None else iter(())

    def _fitting(self, conditions: Conditions, among: Sequence[int] | None = None) -> Iterator[int]:
        check = Check(conditions)
        positions = range(len(self.titles)) if among is None else among
        if conditions.author is not None:
            asked = AskedName(conditions.author)
            positions = [position for position in positions if asked.may_be_in(self._credits[position])]
        for position in positions:
            if check.admit(self._facts[position]):
                yield position


def _credits(authors: Sequence[AuthorKeys]) -> str:
    """Everything that its authors go by, a line each."""
    return "\n".join(text for keys in authors for text in (*keys.spellings, *keys.parts))
