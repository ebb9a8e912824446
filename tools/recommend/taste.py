"""A customer's taste: a weight for each tag, and authors, as far as it is known what they did.

A title that was bought weighs 1, one that was looked at 0.4, a theme that was searched for by name 0.2, the last two halved
for every 30 days since. What a search found is not taste: only who opens a title says that they like the look of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from session.profile import Event
from tools.store.models import ReaderQuery, Title, Weighed
from tools.store.search.query.themes import ThemeTable

BOUGHT_WEIGHT = 1.0
VIEWED_WEIGHT = 0.4
SEARCHED_WEIGHT = 0.2
HALF_LIFE_DAYS = 30


class Did(StrEnum):
    """The customer's act with a title, as a reason ends."""

    BOUGHT = "have"
    VIEWED = "looked at"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class KnownTitle:
    """A title that tells of the customer's taste, and how much."""

    title: Title
    did: Did
    weight: float = BOUGHT_WEIGHT


@dataclass(frozen=True, slots=True)
class CustomerTaste:
    """`owned` are the ids of everything bought; `known` what the catalogue says of titles named as liked just now and of the
    latest bought and viewed, in this order; `searched` weights the tags that searches named; `disliked` are titles that they
    asked to leave out."""

    owned: frozenset[str] = frozenset()
    known: tuple[KnownTitle, ...] = ()
    searched: Mapping[str, float] = field(default_factory=dict)
    disliked: tuple[Title, ...] = ()

    @property
    def viewed_ids(self) -> frozenset[str]:
        return frozenset(each.title.title_id for each in self.known if each.did is Did.VIEWED)

    @property
    def named(self) -> frozenset[str]:
        return frozenset(each.title.title_id for each in self.known if each.did is Did.NAMED)

    def by_named_alone(self) -> CustomerTaste:
        """The taste of the titles named just now alone, if there are any."""
        named = tuple(each for each in self.known if each.did is Did.NAMED)
        return CustomerTaste(self.owned, named, disliked=self.disliked) if named else self

    def with_named(self, titles: Iterable[Title]) -> CustomerTaste:
        return replace(self, known=(*(KnownTitle(title, Did.NAMED) for title in titles), *self.known))


def fading(weight: float, event: Event, now: datetime) -> float:
    """The weight of an event of this age."""
    return float(weight * 0.5 ** (event.days_old(now) / HALF_LIFE_DAYS))


def searched_tags(searches: Sequence[Event], now: datetime) -> dict[str, float]:
    """The tags whose themes were named in searches, in English or Japanese."""
    themes = ThemeTable.load()
    tags: dict[str, float] = defaultdict(float)
    for search in searches:
        named = {tag for theme in themes.themes(search.subject) for tag in theme.tags}
        for tag in named:
            tags[tag] += fading(SEARCHED_WEIGHT, search, now)
    return dict(tags)


def reader_of(customer: CustomerTaste) -> ReaderQuery:
    """The catalogue query of this customer's taste, before any wish."""
    liked = tuple(Weighed(each.title, each.weight) for each in customer.known)
    known = tuple(dict.fromkeys((*customer.owned, *(each.title.title_id for each in customer.known))))
    return ReaderQuery(limit=0, liked=liked, disliked=customer.disliked, themes=customer.searched, known=known)
