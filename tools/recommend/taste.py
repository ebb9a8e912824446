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
from tools.store.models import Facets, Title
from tools.store.search.query.themes import ThemeTable

BOUGHT_WEIGHT = 1.0
VIEWED_WEIGHT = 0.4
SEARCHED_WEIGHT = 0.2
HALF_LIFE_DAYS = 30
LEAST_FOR_AUTHORS = VIEWED_WEIGHT / 4
"""An author counts wholly or not at all: of what was looked at, for two months."""


class Did(StrEnum):
    """What the customer did with a title, as a reason ends."""

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
    latest bought and viewed, in this order; `searched` weights the tags that searches named."""

    owned: frozenset[str] = frozenset()
    known: tuple[KnownTitle, ...] = ()
    searched: Mapping[str, float] = field(default_factory=dict)

    @property
    def viewed(self) -> frozenset[str]:
        return frozenset(each.title.title_id for each in self.known if each.did is Did.VIEWED)

    def by_named_alone(self) -> CustomerTaste:
        """As if nothing were known but the titles that were named just now, if there are any."""
        named = tuple(each for each in self.known if each.did is Did.NAMED)
        return CustomerTaste(self.owned, named) if named else self

    def with_named(self, titles: Iterable[Title]) -> CustomerTaste:
        return replace(self, known=(*(KnownTitle(title, Did.NAMED) for title in titles), *self.known))


def fading(weight: float, event: Event, now: datetime) -> float:
    """What an event's weight has become."""
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


def taste(customer: CustomerTaste, hits: Sequence[Title]) -> Facets | None:
    """What else to look for; None where nothing says so. As long as less is known of the customer than one purchase tells,
    the best hits make up for it."""
    liked = [(each.title, each.weight) for each in customer.known]
    lacking = BOUGHT_WEIGHT - sum(weight for _, weight in liked)
    if lacking > 0:
        liked += [(title, lacking / len(hits)) for title in hits]
    tags: dict[str, float] = defaultdict(float, customer.searched)
    authors: dict[str, None] = {}
    genres: dict[str, float] = defaultdict(float)
    for title, weight in liked:
        for tag in title.tags:
            tags[tag] += weight
        if weight >= LEAST_FOR_AUTHORS:
            authors.update(dict.fromkeys(author.name for author in title.authors))
        if title.genre:
            genres[title.genre] += weight
    if not tags and not authors:
        return None
    return Facets(dict(tags), tuple(authors), max(genres, key=lambda genre: genres[genre], default=None))
