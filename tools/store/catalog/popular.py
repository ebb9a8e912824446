"""The most popular titles, kept here and in Redis so that there is something to offer while the catalogue is away."""

from __future__ import annotations

import asyncio
import logging
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Generic, TypeVar

import numpy as np

from session.failures import MemoryUnavailable
from session.memory import Snapshots
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.tasks import run_periodically
from tools.store.failures import Failure
from tools.store.models import Author, Called, Conditions, Ordering, Title
from tools.store.ports import CatalogPort
from tools.store.search.conditions.check import Check, Facts
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.names import asked_names
from tools.store.search.ranking.orderings import in_order
from tools.store.search.ranking.weights import Weights
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.name_table import NameTable
from tools.store.search.titles.names import MOST_TITLES, NameKeys, exact_names, family_key, names_of
from tools.store.search.titles.people import AskedName, AuthorKeys
from tools.store.typed_snapshot import TypedSnapshot

T = TypeVar("T")
LAST = "\U0010ffff"


class Beginnings(Generic[T]):
    """Things by the sound keys of their names, the best known first. A look costs as much as it finds. Read only."""

    def __init__(self, named: Iterable[tuple[T, Iterable[str]]]) -> None:
        """`named`: things, the best known first, with their keys."""
        rows = [(thing, set(keys) - {""}) for thing, keys in named]
        self._things = [thing for thing, _ in rows]
        self._keys = sorted((key, rank) for rank, (_, keys) in enumerate(rows) for key in keys)

    def of(self, typed: str, limit: int) -> list[T]:
        """The best known `limit` of them of which a name begins so; of all where nothing is typed that could begin one."""
        if not (key := sound_key(typed)):
            return [] if typed.strip() else self._things[:limit]
        # Names of authors were joined before they were folded: "nao u" begins "naorasawa".
        ranks = sorted({*self._beginning(key), *self._beginning(sound_key(key))})
        return [self._things[rank] for rank in ranks[:limit]]

    def _beginning(self, key: str) -> Iterator[int]:
        first, behind = bisect_left(self._keys, (key, 0)), bisect_left(self._keys, (key + LAST, 0))
        return (rank for _, rank in self._keys[first:behind])


def titles_by_beginning(titles: Sequence[Title]) -> Beginnings[Title]:
    return Beginnings((title, map(sound_key, names_of(title))) for title in titles)


def authors_by_beginning(titles: Sequence[Title]) -> Beginnings[Author]:
    """By their whole names, family or given name first, and by the names in Japanese that are theirs."""
    return Beginnings((author, AuthorKeys.of(author).spellings) for author in _authors(titles))


def _authors(titles: Sequence[Title]) -> Iterator[Author]:
    seen: set[str] = set()
    for title in titles:
        for author in title.authors:
            if author.name not in seen:
                seen.add(author.name)
                yield author


class NamesAtHand:
    """Titles, the best known first, and their authors by the sound of their names. Read only."""

    def __init__(self, titles: Sequence[Title]) -> None:
        self._titles: Mapping[str, dict[str, None]] = defaultdict(dict)
        self._works: Mapping[str, dict[str, None]] = defaultdict(dict)
        for title in titles:
            for key in map(sound_key, names_of(title)):
                self._titles[key][title.title_id] = None
            for key in (key for author in title.authors for key in _keys(author)):
                self._works[key][title.title_id] = None

    def find(self, asked: Sequence[str]) -> dict[str, Called]:
        """What goes by each of the names; those that nothing goes by are left out."""
        found = {each: self._called(name.key) for each, name in exact_names(asked).items()}
        return {each: called for each, called in found.items() if called != Called()}

    def _called(self, key: str) -> Called:
        return Called(tuple(self._titles.get(key, ()))[:MOST_TITLES], len(self._works.get(key, ())))


def _keys(author: Author) -> Iterator[str]:
    for name in (author.name, author.name_ja, author.name_kana):
        if name:
            yield sound_key(name)
    if family := family_key(author):
        yield family


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


logger = logging.getLogger(__name__)
HOW_MANY = 500
REFRESH_SECONDS = 300.0
RETRY_SECONDS = 2.0
ASK_SECONDS = 5.0
SNAPSHOT_SECONDS = 24 * 3600
TitlesSnapshot = TypedSnapshot[tuple[Title, ...]]


def titles_snapshot(snapshots: Snapshots, variant: str = "") -> TitlesSnapshot:
    """`variant` keeps apart what other settings keep."""
    return TypedSnapshot(snapshots, f"popular{variant}", tuple[Title, ...])


@dataclass(slots=True)
class PopularTitles:
    """A snapshot that a task owned by the application refreshes. Empty until the catalogue has answered once, or until what
    another process has left in the `snapshot` was found."""

    catalog: CatalogPort
    snapshot: TitlesSnapshot | None = None
    clock: Clock = time.monotonic
    _index: PopularIndex = field(default_factory=PopularIndex)
    _parser: QueryParser = field(default_factory=QueryParser.load)

    @property
    def title_ids(self) -> tuple[str, ...]:
        """The most popular first."""
        return tuple(self._index.by_id)

    def matching(self, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """The most popular titles of the snapshot that satisfy the conditions, exactly."""
        return self._index.matching(conditions, limit)

    def ordered(self, conditions: Conditions, ordering: Ordering | None, limit: int) -> tuple[Title, ...]:
        """The same in another order, where one is asked for."""
        if ordering is None or ordering is Ordering.POPULARITY:
            return self.matching(conditions, limit)
        return in_order(self.matching(conditions, HOW_MANY), ordering)[:limit]

    def called(self, query: str, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """Those of them that the query names, or whose author it names, best match first."""
        return self._index.called(query, self._parser, conditions, limit)

    def exactly(self, names: Sequence[str]) -> dict[str, Called]:
        """What goes by each of the names among them, for when the catalogue does not say."""
        return self._index.at_hand.find(names)

    def titles_beginning(self, typed: str, limit: int) -> list[Title]:
        """Those of which a name begins so, the most popular first."""
        return self._index.titles_beginning.of(typed, limit)

    def ids_beginning(self, typed: str, limit: int) -> list[Title]:
        """Those whose id begins so."""
        return [self._index.by_id[each] for each in self._index.by_id if typed and each.startswith(typed)][:limit]

    def authors_beginning(self, typed: str, limit: int) -> list[Author]:
        """Their authors whose name begins so, those of the most popular titles first."""
        return self._index.authors_beginning.of(typed, limit)

    def known(self, title_id: str) -> Title | None:
        return self._index.by_id.get(title_id)

    async def refresh(self) -> bool:
        """Whether the catalogue answered."""
        try:
            titles = await self.catalog.popular(Conditions(), HOW_MANY, Deadline.after(ASK_SECONDS, self.clock))
        except Failure as failure:
            logger.debug("popular titles not refreshed: %s", failure.name)
            return False
        if titles:  # a catalogue that is being filled takes away nothing that is known
            await self._take(titles)
            if self.snapshot is not None:
                await self.snapshot.save(titles, SNAPSHOT_SECONDS)
        return True

    async def recall(self) -> bool:
        """Whether a snapshot was found to begin with."""
        try:
            titles = await self.snapshot.load() if self.snapshot is not None else None
        except MemoryUnavailable:
            return False
        if titles and not self._index.titles:
            await self._take(titles[:HOW_MANY])
        return bool(titles)

    async def keep_warm(self) -> None:
        """Runs until cancelled."""
        await run_periodically("popular titles", self._round)

    async def _round(self) -> float:
        if not self._index.titles:
            await self.recall()
        return REFRESH_SECONDS if await self.refresh() else RETRY_SECONDS

    async def _take(self, titles: tuple[Title, ...]) -> None:
        """Made beside the event loop: it takes a quarter of a second."""
        self._index = await asyncio.to_thread(PopularIndex, titles)
