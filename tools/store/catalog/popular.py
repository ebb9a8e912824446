from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from session import keys
from session.failures import MemoryUnavailable
from session.memory import SessionMemory, pack, unpack
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.tasks import run_periodically
from tools.store.failures import Failure
from tools.store.identifiers import CHILDREN
from tools.store.models import Conditions, NameMatches, Ordering, Title
from tools.store.ports import MOST_POPULAR, CatalogPort, TitlesPort
from tools.store.search.conditions.check import Check, Facts
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.candidates import in_order
from tools.store.search.ranking.names import asked_names
from tools.store.search.ranking.weights import WEIGHTS
from tools.store.search.text.romaji import sound_key
from tools.store.search.text.tokens import SortedKeys
from tools.store.search.titles.document import AskedName, AuthorKeys
from tools.store.search.titles.names import MOST_TITLES, NameKeys, NameTable, exact_names, family_key, names_of

logger = logging.getLogger(__name__)

T = TypeVar("T")


class TypedSnapshot(Generic[T]):
    """A value of type `T` that is stored in Redis under `name`, in one or more parts. `form` is a version of the type's
    shape and part of the key, so that servers of different versions do not read each other's values."""

    def __init__(self, memory: SessionMemory, name: str, shape: Any, form: str) -> None:
        self._memory = memory
        self._name = name
        self._shape: TypeAdapter[T] = TypeAdapter(shape)
        self._form = form
        self._told = False

    async def load(self, part: int | str = 0) -> T | None:
        """Returns a part of the stored value; None if it is missing or unreadable. Raises `MemoryUnavailable` if Redis
        fails."""
        packed = await self._memory.load_snapshot(self._key(part))
        return None if packed is None else await asyncio.to_thread(self._read, packed)

    async def save(self, value: T, seconds: int, part: int | str = 0) -> bool:
        """Stores a part of the value for `seconds`. Returns True if Redis has confirmed the write."""
        packed = await asyncio.to_thread(lambda: pack(self._shape.dump_json(value)))
        return await self._memory.save_snapshot(self._key(part), packed, seconds)

    def _read(self, packed: bytes) -> T | None:
        content = unpack(packed)
        if content is not None:
            with suppress(ValidationError):
                return self._shape.validate_json(content, strict=True)
        if not self._told:
            self._told = True
            logger.warning("the stored %s cannot be read and counts as missing", self._name)
        return None

    def _key(self, part: int | str) -> str:
        return keys.snapshot(f"{self._name}:{part}", self._form)


class PrefixIndex(Generic[T]):
    """A prefix index for completions, which finds items by the sound keys (phonetic forms) of their names. Immutable."""

    def __init__(self, named: Iterable[tuple[T, Iterable[str]]]) -> None:
        """Indexes pairs of an item and the keys of its names. The most popular items have to be first."""
        rows = [(thing, set(keys) - {""}) for thing, keys in named]
        self._things = [thing for thing, _ in rows]
        self._keys = SortedKeys((key, rank) for rank, (_, keys) in enumerate(rows) for key in keys)

    def find(self, typed: str, limit: int) -> list[T]:
        """Returns the `limit` most popular items with a name that begins with `typed`; of all items if `typed` is blank."""
        if not (key := sound_key(typed)):
            return [] if typed.strip() else self._things[:limit]
        # Authors' keys were joined before they were folded, so this folds again: "nao u" begins "naorasawa".
        ranks = sorted({*self._keys.beginning_with(key, None), *self._keys.beginning_with(sound_key(key), None)})
        return [self._things[rank] for rank in ranks[:limit]]


LONGEST_NAME = 200
"""Most characters of a query that is compared with names; a longer one describes a story."""


class PopularIndex:
    """An in-memory index of titles, which have to be sorted, most popular first. Immutable. Building it takes about 0.5 ms a
    title."""

    def __init__(self, titles: Sequence[Title] = ()) -> None:
        self.titles = tuple(titles)
        self.by_id = {title.title_id: title for title in self.titles}
        self._parser = QueryParser()
        self._facts = [Facts.from_title(title) for title in self.titles]
        self._credits = [
            "\n".join(text for keys in facts.authors for text in (*keys.spellings, *keys.parts)) for facts in self._facts
        ]
        self._names = NameTable(map(NameKeys.of, self.titles))
        self.titles_beginning = PrefixIndex((title, map(sound_key, names_of(title))) for title in self.titles)
        authors = {author.name: author for title in reversed(self.titles) for author in reversed(title.authors)}
        self.authors_beginning = PrefixIndex(
            (each, AuthorKeys.from_author(each).spellings) for each in reversed(authors.values())
        )
        self._ids: Mapping[str, dict[str, None]] = defaultdict(dict)
        self._works: Mapping[str, dict[str, None]] = defaultdict(dict)
        for title in self.titles:
            for key in map(sound_key, names_of(title)):
                self._ids[key][title.title_id] = None
            for author in title.authors:
                names = filter(None, (author.name, author.name_ja, author.name_kana))
                for key in (*map(sound_key, names), family_key(author)):
                    self._works[key][title.title_id] = None

    def list_ordered(self, conditions: Conditions, ordering: Ordering | None, limit: int) -> tuple[Title, ...]:
        """Returns the first `limit` titles that satisfy the conditions, sorted by `ordering`. None sorts by popularity,
        titles made for children first if the conditions are `for_children`."""
        found = (self.titles[position] for position in self._fitting(conditions))
        if ordering is not None and ordering is not Ordering.POPULARITY:
            return in_order(tuple(found), ordering)[:limit]
        if ordering is None and conditions.for_children:
            return tuple(sorted(found, key=lambda title: title.genre != CHILDREN)[:limit])
        return tuple(islice(found, limit))

    def ids_beginning(self, typed: str, limit: int) -> list[Title]:
        return [self.by_id[each] for each in self.by_id if typed and each.startswith(typed)][:limit]

    def match_names(self, asked: Sequence[str]) -> dict[str, NameMatches]:
        found = {
            each: NameMatches(tuple(self._ids.get(name.key, ()))[:MOST_TITLES], len(self._works.get(name.key, ())))
            for each, name in exact_names(asked).items()
        }
        return {each: matches for each, matches in found.items() if matches != NameMatches()}

    def find_by_name(self, query: str, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """Returns titles that satisfy the conditions: those that the query names, in any script and with a typo or two, best
        match first; then, if the conditions name no author, works of an author that the query names."""
        if not self.titles or len(query) > LONGEST_NAME:
            return ()
        parsed = self._parser.parse(query)
        author = parsed.author or parsed.subject
        works = self._fitting(replace(conditions, author=author)) if author and conditions.author is None else ()
        positions = dict.fromkeys((*self._find_named(parsed, conditions), *works))
        return tuple(self.titles[position] for position in islice(positions, limit))

    def _find_named(self, parsed: ParsedQuery, conditions: Conditions) -> list[int]:
        near = np.maximum(self._names.likeness(asked_names(parsed)), self._names.spelled_in_katakana(parsed.subject))
        alike = [int(position) for position in np.flatnonzero(near >= WEIGHTS.name_threshold)]
        fitting = set(self._fitting(conditions, alike))
        return sorted(fitting, key=lambda position: (-near[position], position))

    def _fitting(self, conditions: Conditions, among: Sequence[int] | None = None) -> Iterator[int]:
        check = Check(conditions)
        positions = range(len(self.titles)) if among is None else among
        if conditions.author is not None:
            asked = AskedName(conditions.author)
            positions = [position for position in positions if asked.may_be_in(self._credits[position])]
        for position in positions:
            if check.admit(self._facts[position]):
                yield position


REFRESH_SECONDS = 300.0
RETRY_SECONDS = 2.0
ASK_SECONDS = 5.0
WARM_SECONDS = 1.0
SNAPSHOT_SECONDS = 24 * 3600
FORM_OF_TITLES = "nkt5dx3ir4"
TitlesSnapshot = TypedSnapshot[tuple[Title, ...]]


def titles_snapshot(memory: SessionMemory, variant: str = "") -> TitlesSnapshot:
    """Returns the Redis snapshot of popular titles. `variant` is part of its name, so that servers with different settings
    do not share a snapshot."""
    return TypedSnapshot(memory, f"popular{variant}", tuple[Title, ...], FORM_OF_TITLES)


@dataclass(slots=True)
class PopularTitles:
    """The most popular titles, refreshed from the catalogue by a background task of the application. `index` has the latest
    titles. A new process loads titles from `snapshot` or, if that is empty, from the store's `records` (either may be None),
    so that there is a fallback before the catalogue has answered for the first time."""

    catalog: CatalogPort
    snapshot: TitlesSnapshot | None = None
    clock: Clock = time.monotonic
    records: TitlesPort | None = None
    index: PopularIndex = field(default_factory=PopularIndex)

    def match_names(self, names: Sequence[str]) -> dict[str, NameMatches]:
        return self.index.match_names(names)

    async def refresh(self) -> bool:
        """Reads the titles and, if there are any, stores the snapshot. Returns True if the catalogue answered."""
        try:
            titles = await self.catalog.popular(Conditions(), MOST_POPULAR, Deadline.after(ASK_SECONDS, self.clock))
        except Failure as failure:
            logger.debug("popular titles not refreshed: %s", failure.name)
            return False
        if titles:  # an empty catalogue, which is being filled, replaces no known titles
            await self._take(titles)
            if self.snapshot is not None:
                await self.snapshot.save(titles, SNAPSHOT_SECONDS)
        return True

    async def recall(self) -> bool:
        """Loads the snapshot, and uses it if no titles are known yet. Returns True if the snapshot has titles."""
        try:
            titles = await self.snapshot.load() if self.snapshot is not None else None
        except MemoryUnavailable:
            return False
        if titles and not self.index.titles:
            await self._take(titles[:MOST_POPULAR])
        return bool(titles)

    async def read_records(self) -> None:
        """Loads the titles from the store's records, if they can be read."""
        if self.records is None:
            return
        try:
            titles = await self.records.popular(MOST_POPULAR, Deadline.after(ASK_SECONDS, self.clock))
        except Failure as failure:
            logger.debug("popular titles not read from the records: %s", failure.name)
            return
        if titles:
            await self._take(titles)

    async def warm(self) -> None:
        """Loads titles from the snapshot or the records if none are known yet, so that the first call has a fallback. Takes
        at most one second."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WARM_SECONDS):
                await self._find_kept()

    async def keep_warm(self) -> None:
        """Refreshes the titles every 5 minutes until cancelled; every 2 seconds while the catalogue fails."""
        await run_periodically("popular titles", self._round)

    async def _find_kept(self) -> None:
        if not self.index.titles and not await self.recall():
            await self.read_records()

    async def _round(self) -> float:
        await self._find_kept()
        return REFRESH_SECONDS if await self.refresh() else RETRY_SECONDS

    async def _take(self, titles: tuple[Title, ...]) -> None:
        self.index = await asyncio.to_thread(PopularIndex, titles)
