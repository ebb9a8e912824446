"""Derives a customer's taste from purchases, views and searches.

A bought title weighs 1, a viewed title 0.4, and a theme named in a search 0.2. Weights of views and searches halve every 30
days. Titles that only appeared in search results do not count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar, cast

from session.profile import Event, EventKind, Profile
from session.resilience.deadline import Deadline
from session.resilience.tasks import gather_or_cancel
from tools.contract import ToolContext
from tools.results.rows import read_or
from tools.store.models import ReaderQuery, Title, WeighedTitle
from tools.store.search.query.themes import ThemeTable

VIEWED_WEIGHT = 0.4
SEARCHED_WEIGHT = 0.2
HALF_LIFE_DAYS = 30


class Did(StrEnum):
    """The customer's relation to a title. The value is the verb phrase that ends a reason: "..., which you looked at"."""

    BOUGHT = "have"
    VIEWED = "looked at"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class KnownTitle:
    title: Title
    did: Did
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class CustomerTaste:
    """A customer's taste. `owned`: ids of all bought titles. `known`: the titles named as liked in this call or, without
    any, the latest bought titles, then viewed ones. `searched`: weights of tags named in searches. `disliked`: titles that
    the customer asked to leave out."""

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

    def by_named_alone(self, titles: Sequence[Title]) -> CustomerTaste:
        """Returns the taste with `titles`, those named in this call, as its only evidence; unchanged if there are none.
        Keeps owned and disliked titles."""
        named = tuple(KnownTitle(title, Did.NAMED) for title in titles)
        return CustomerTaste(self.owned, named, disliked=self.disliked) if named else self


def decayed(weight: float, event: Event, now: datetime) -> float:
    return float(weight * 0.5 ** (event.days_old(now) / HALF_LIFE_DAYS))


def searched_tags(searches: Sequence[Event], now: datetime) -> dict[str, float]:
    """Returns the weights of tags whose themes were named in the searches, in English or Japanese."""
    themes = ThemeTable.load()
    tags: dict[str, float] = defaultdict(float)
    for search in searches:
        named = {tag for theme in themes.themes(search.subject) for tag in theme.tags}
        for tag in named:
            tags[tag] += decayed(SEARCHED_WEIGHT, search, now)
    return dict(tags)


def reader_of(customer: CustomerTaste) -> ReaderQuery:
    """Builds a catalogue query from the taste alone. The caller sets limit, conditions, and requested themes and moods."""
    liked = tuple(WeighedTitle(each.title, each.weight) for each in customer.known)
    known = tuple(dict.fromkeys((*customer.owned, *(each.title.title_id for each in customer.known))))
    return ReaderQuery(limit=0, liked=liked, disliked=customer.disliked, themes=customer.searched, known=known)


A = TypeVar("A")
B = TypeVar("B")


async def gather_two(one: Coroutine[Any, Any, A], other: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """Runs both coroutines concurrently. If one fails, cancels the other and raises the exception."""
    return cast(tuple[A, B], tuple(await gather_or_cancel([one, other])))


MOST_BOUGHT, MOST_VIEWED = 60, 20
MOST_SEARCHES = 10
MOST_NAMED, LONGEST_NAME = 20, 100
"""Most names of excluded titles that are looked up, and most characters of such a name; other names are compared as text."""
PROFILE_SECONDS = 0.2
"""Most seconds to wait for the profile. Without the profile, recommendations follow from purchases and the request."""


async def customer_taste(context: ToolContext) -> CustomerTaste:
    """Returns the caller's taste; empty for an anonymous caller. Orders and profile have a time limit each; the one that
    cannot be read in time counts as empty and is named in `degraded`."""
    if context.user is None:
        return CustomerTaste()
    half = context.deadline.within(context.deadline.remaining() / 2)
    bought, profile = await gather_two(
        read_purchases(context, context.user, half),
        read_or(context, context.store.profiles.recall(context.user, half.within(PROFILE_SECONDS)), "profile", Profile()),
    )
    owned, now = frozenset(bought), context.store.now()
    viewed = [event for event in profile.last(EventKind.VIEWED) if event.subject not in owned][:MOST_VIEWED]
    searched = searched_tags(profile.last(EventKind.SEARCHED)[:MOST_SEARCHES], now)
    return CustomerTaste(owned, await _known_titles(context, bought[:MOST_BOUGHT], viewed, now), searched)


async def read_purchases(context: ToolContext, user: str, deadline: Deadline) -> tuple[str, ...]:
    return await read_or(context, context.store.orders.purchased(user, deadline), "orders", ())


async def _known_titles(
    context: ToolContext, bought: Sequence[str], viewed: Sequence[Event], now: datetime
) -> tuple[KnownTitle, ...]:
    titles = await _read_titles(context, [*bought, *(event.subject for event in viewed)])
    weights = {event.subject: decayed(VIEWED_WEIGHT, event, now) for event in viewed}
    known = [KnownTitle(titles[i], Did.BOUGHT) for i in bought if i in titles]
    return *known, *(KnownTitle(titles[i], Did.VIEWED, weight) for i, weight in weights.items() if i in titles)


async def disliked_titles(context: ToolContext, named: Sequence[str], title_ids: Sequence[str]) -> tuple[Title, ...]:
    """Reads the titles to leave out, given by id or name. Omits unknown titles. If the catalogue fails, returns () and adds
    "taste" to `degraded`."""
    names = [name for name in named if len(name) <= LONGEST_NAME][:MOST_NAMED]
    catalog, deadline = context.store.catalog, context.deadline
    called = await read_or(context, catalog.match_names(names, deadline), "taste", None) if names else {}
    if called is None:
        return ()
    ids = (*title_ids, *named, *(each.title_ids[0] for each in called.values() if each.title_ids))
    return tuple((await _read_titles(context, list(dict.fromkeys(ids)))).values())


async def titles_named(context: ToolContext, title_ids: Sequence[str]) -> tuple[Title, ...]:
    """Reads the titles that the customer named for comparison, without unknown ones. Returns () and adds "taste" to
    `degraded` if the catalogue fails."""
    titles = await _read_titles(context, title_ids)
    return tuple(titles[each] for each in title_ids if each in titles)


async def _read_titles(context: ToolContext, title_ids: Sequence[str]) -> dict[str, Title]:
    if not title_ids:
        return {}
    return await read_or(context, context.store.catalog.get(title_ids, context.deadline), "taste", {})
