"""Reads preferences as queries are read, each text once for a while: calls of the same customer read the same ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from session.preferences import Preference
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.models import Conditions
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Freedom, Reading
from tools.store.search.text.characters import normalise

NOTHING = Conditions()
ONE_MATTER = frozenset(
    {
        *("genres", "author", "min_rating", "statuses", "volumes", "years", "audience", "magazines", "tags"),
        *("price", "series_price", "format"),
    }
)
"""Matters on which a later statement replaces an earlier one."""
YES_OR_NO = frozenset({"in_stock", "all_volumes", "no_adult"})


@dataclass(frozen=True, slots=True)
class Stance:
    """The customer's attitude in one statement. `welcome` and `welcome_genres`: named tags and readerships that are not
    refused; `adult`: adult titles are asked for. `along`: for each phrase its first tag and the tags that often go with it
    ("horror", and its gore): taking back a refusal of the first tag takes back those of the others, but not the other way
    round. `freedoms`: what is said to be no requirement."""

    conditions: Conditions = NOTHING
    welcome: frozenset[str] = frozenset()
    welcome_genres: frozenset[str] = frozenset()
    adult: bool = False
    along: tuple[tuple[str, frozenset[str]], ...] = ()
    freedoms: tuple[Freedom, ...] = ()
    taken: frozenset[str] = field(init=False)
    """The names of the conditions that this statement replaces."""

    def __post_init__(self) -> None:
        own = self.conditions
        taken = {*ONE_MATTER.intersection(own.stated), *(("audience", "no_adult") if self.adult else ())}
        object.__setattr__(self, "taken", frozenset(taken))
        object.__setattr__(self, "welcome", self.welcome.union(*own.tags))
        object.__setattr__(self, "welcome_genres", self.welcome_genres.union(own.genres))

    @property
    def stated(self) -> bool:
        return bool(self.conditions.stated or self.welcome or self.welcome_genres or self.freedoms)

    def leaves(self, older: Conditions) -> Conditions:
        """The parts of an earlier statement that still hold: all but those on the same matter."""
        tags = _less(older.without_tags, self._asked_for(older.without_tags))
        genres = _less(older.without_genres, self.welcome_genres)
        authors = tuple(name for name in older.without_authors if not _names(self.conditions.author, name))
        left = older
        if (tags, genres, authors) != (older.without_tags, older.without_genres, older.without_authors):
            left = replace(older, without_tags=tags, without_genres=genres, without_authors=authors)
        for freedom in self.freedoms:
            left = freedom.leaves(left)
        taken = [name for name in self.taken if getattr(left, name)]
        return left.but(*taken) if taken else left

    def _asked_for(self, unwanted: tuple[str, ...]) -> frozenset[str]:
        """The welcome tags, with the companions (`along`) of each phrase whose first tag is unwanted."""
        return self.welcome.union(*(others for first, others in self.along if first in unwanted))

    def adds_to(self, older: Conditions) -> Conditions:
        """The parts of an earlier statement that this one neither restates nor contradicts."""
        own, left = self.conditions, self.leaves(older)
        return replace(
            left.but(*YES_OR_NO.intersection(own.stated)),
            without_tags=_less(left.without_tags, own.without_tags),
            without_genres=_less(left.without_genres, own.without_genres),
            without_authors=_less(left.without_authors, own.without_authors),
            without_titles=_less(left.without_titles, own.without_titles),
        )


def stance_of(reading: Reading, *, firmly: bool = False) -> Stance:
    """The stance of a reading. Unrefused names are welcome; `firmly`: only if a word says so."""
    welcome = reading.endorsed if firmly else reading.welcome
    return Stance(
        reading.conditions,
        frozenset(each for each in welcome if each),
        frozenset() if firmly else reading.welcome_genres,
        reading.adult,
        tuple(each for each in reading.along if each[0] in welcome),
        reading.freedoms,
    )


def _less(held: tuple[str, ...], taken: frozenset[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in held if each not in taken)


def _names(author: str | None, unwanted: str) -> bool:
    """True if the author asked for is the one ruled out, by all the words of either name."""
    if author is None:
        return False
    one, other = set(normalise(author).replace(",", " ").split()), set(normalise(unwanted).replace(",", " ").split())
    return bool(one) and (one <= other or other <= one)


MOST_KEPT = 2_000
"""Texts whose reading is kept, of some kilobytes each."""
MOST_TOGETHER = 500
"""Customers whose preferences were read beside one another."""
KEPT_SECONDS = 600.0
"""Time for which a reading is kept: it depends on the catalogue's words, and on the year."""
NEARLY_NONE = 0.005
"""Seconds; less time left is too little to read a preference for the first time."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A preference and its reading. `holds`: the part that no later preference takes back. `of_another`: it concerns
    somebody else ("my daughter is 8") and is no condition for the customer's titles. `unread`: there was no time."""

    preference: Preference
    reading: Reading
    stance: Stance
    holds: Conditions = Conditions()
    of_another: bool = False
    unread: bool = False

    @property
    def is_obeyed(self) -> bool:
        """True if any part of it is a condition."""
        return bool(self.stance.conditions.stated)

    @property
    def understood(self) -> list[str]:
        """The preference's conditions in a few English words."""
        return [each.condition for each in self.reading.understood if each.obeyed and each.about] if self.is_obeyed else []

    @property
    def doubted(self) -> list[str]:
        """Words of the preference that were not read for sure and are no condition."""
        return [each.words for each in self.reading.understood if not each.obeyed]


class PreferenceReader:
    def __init__(self, reader: Reader, clock: Clock = time.monotonic) -> None:
        self._reader = reader
        self._clock = clock
        self._kept: Lru[str, tuple[float, Heard]] = Lru(MOST_KEPT)
        self._together: Lru[tuple[Preference, ...], tuple[float, tuple[Heard, ...]]] = Lru(MOST_TOGETHER)

    async def all(self, preferences: Iterable[Preference], deadline: Deadline) -> tuple[Heard, ...]:
        """Reads each preference, the oldest first; those that there is no time for are `unread`."""
        stated = tuple(preferences)
        kept = self._together.use(stated)
        if kept is not None and kept[0] > self._clock():
            return kept[1]
        heard = []
        for each in stated:
            heard.append(self._recall_reading(each) or await self.read(each, deadline))
            await asyncio.sleep(0)  # twenty at a stretch would keep everybody else waiting
        together = _holding(heard)
        if all(each.preference.text in self._kept for each in together):
            self._together.put(stated, (self._clock() + KEPT_SECONDS, together))
        return together

    async def read(self, preference: Preference, deadline: Deadline) -> Heard:
        if deadline.remaining() < NEARLY_NONE:
            return Heard(preference, Reading(preference.text, ""), Stance(), unread=True)
        reading = await self._reader.read(preference.text, deadline)
        heard = _interpret_reading(preference, reading)
        if not reading.unnamed:
            self._kept.put(preference.text, (self._clock() + KEPT_SECONDS, heard))
        return heard

    def call(self, reading: Reading) -> Stance:
        """The stance that the words of one call state."""
        return stance_of(reading)

    def _recall_reading(self, preference: Preference) -> Heard | None:
        kept = self._kept.use(preference.text)
        if kept is None or kept[0] < self._clock():
            return None
        return replace(kept[1], preference=preference)


def _interpret_reading(preference: Preference, reading: Reading) -> Heard:
    """The preference's lasting part: liked titles are no condition, and known titles may still be asked for."""
    if reading.another:
        return Heard(preference, reading, Stance(), of_another=True)
    known = set(reading.known)
    kept = tuple(each for each in reading.conditions.without_titles if each not in known)
    lasting = replace(reading.conditions.but("tags", "author"), without_titles=kept)
    said = tuple(
        each for each in reading.understood if not each.obeyed or any(name in lasting.stated for name in each.about)
    )
    return Heard(preference, replace(reading, understood=said), stance_of(replace(reading, conditions=lasting), firmly=True))


def _holding(heard: Sequence[Heard]) -> tuple[Heard, ...]:
    """The preferences, each with the part that no later one has taken back."""
    later: list[Stance] = []
    held: list[Heard] = []
    for each in reversed(heard):
        holds = each.stance.conditions
        for stance in later:
            holds = stance.leaves(holds)
        later.append(each.stance)
        held.append(replace(each, holds=holds))
    return tuple(reversed(held))
