"""Parses customers' stated preferences with `Reader`, and caches the results."""

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
"""Names of conditions of which only the latest statement holds."""
YES_OR_NO = frozenset({"in_stock", "all_volumes", "no_adult"})


@dataclass(frozen=True, slots=True)
class Stance:
    """The effect of one statement on the search conditions.

    `welcome` and `welcome_genres` are tags and readerships that the statement names without refusing them. `adult` is True
    if the statement asks for adult titles. `companions` pairs the first tag of a phrase with related tags ("horror" with
    gore): a statement that allows a refused first tag again also allows the related tags, but not the other way round.
    `freedoms` are conditions that the statement says are not required."""

    conditions: Conditions = NOTHING
    welcome: frozenset[str] = frozenset()
    welcome_genres: frozenset[str] = frozenset()
    adult: bool = False
    companions: tuple[tuple[str, frozenset[str]], ...] = ()
    freedoms: tuple[Freedom, ...] = ()
    taken: frozenset[str] = field(init=False)
    """Names of the conditions that this statement replaces."""

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
        """Returns the conditions in `older` that still hold: without those that this statement replaces or takes back."""
        companions = (others for first, others in self.companions if first in older.without_tags)
        tags = _less(older.without_tags, self.welcome.union(*companions))
        genres = _less(older.without_genres, self.welcome_genres)
        authors = tuple(name for name in older.without_authors if not _names(self.conditions.author, name))
        left = older
        if (tags, genres, authors) != (older.without_tags, older.without_genres, older.without_authors):
            left = replace(older, without_tags=tags, without_genres=genres, without_authors=authors)
        for freedom in self.freedoms:
            left = freedom.leaves(left)
        taken = [name for name in self.taken if getattr(left, name)]
        return left.but(*taken) if taken else left

    def adds_to(self, older: Conditions) -> Conditions:
        """Returns the conditions in `older` that this statement neither repeats nor contradicts."""
        own, left = self.conditions, self.leaves(older)
        return replace(
            left.but(*YES_OR_NO.intersection(own.stated)),
            without_tags=_less(left.without_tags, own.without_tags),
            without_genres=_less(left.without_genres, own.without_genres),
            without_authors=_less(left.without_authors, own.without_authors),
            without_titles=_less(left.without_titles, own.without_titles),
        )


def stance_of(reading: Reading, *, firmly: bool = False) -> Stance:
    """Returns the effect of a parsed text as a `Stance`. Its welcome tags and readerships are all those that the text
    names and does not refuse. With `firmly`, they are only those that the text's conditions require, and the tags that
    the text says are liked."""
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
    if author is None:
        return False
    one, other = set(normalise(author).replace(",", " ").split()), set(normalise(unwanted).replace(",", " ").split())
    return bool(one) and (one <= other or other <= one)


KEPT_SECONDS = 600.0
"""Lifetime of a cached reading. A reading depends on the catalogue's terms and on the year, so it may become outdated."""


@dataclass(frozen=True, slots=True)
class ParsedPreference:
    """A parsed preference. `holds`, set by `read_all`, are its conditions that no later preference replaces or takes back.
    `of_another` is True if it is about another reader ("my daughter is 8"), so that none of its conditions counts. `unread`
    is True if there was no time to parse it."""

    preference: Preference
    reading: Reading
    stance: Stance
    holds: Conditions = Conditions()
    of_another: bool = False
    unread: bool = False

    @property
    def is_obeyed(self) -> bool:
        """True if the preference states any condition."""
        return bool(self.stance.conditions.stated)

    @property
    def understood(self) -> list[str]:
        """The preference's conditions in a few English words; empty if it states none."""
        return [each.condition for each in self.reading.understood if each.obeyed and each.about] if self.is_obeyed else []

    @property
    def doubted(self) -> list[str]:
        """Words of the preference that state no condition, since their meaning is uncertain."""
        return [each.words for each in self.reading.understood if not each.obeyed]


class PreferenceReader:
    def __init__(self, reader: Reader, clock: Clock = time.monotonic) -> None:
        self._reader = reader
        self._clock = clock
        self._kept: Lru[str, tuple[float, ParsedPreference]] = Lru(2_000)  # some kilobytes each
        self._together: Lru[tuple[Preference, ...], tuple[float, tuple[ParsedPreference, ...]]] = Lru(500)

    async def read_all(self, preferences: Iterable[Preference], deadline: Deadline) -> tuple[ParsedPreference, ...]:
        """Returns the parsed preferences in the given order, oldest first, from the cache if possible. Preferences for which
        no time is left are `unread`."""
        stated = tuple(preferences)
        kept = self._together.use(stated)
        if kept is not None and kept[0] > self._clock():
            return kept[1]
        heard = []
        for each in stated:
            heard.append(self._recall_reading(each) or await self.read(each, deadline))
            await asyncio.sleep(0)  # yields, since twenty in a row would block the event loop
        together = _drop_retracted(heard)
        if all(each.preference.text in self._kept for each in together):
            self._together.put(stated, (self._clock() + KEPT_SECONDS, together))
        return together

    async def read(self, preference: Preference, deadline: Deadline) -> ParsedPreference:
        """Parses one preference, even if a reading is cached. If less than 5 ms are left, returns it as `unread`."""
        if deadline.remaining() < 0.005:
            return ParsedPreference(preference, Reading(preference.text, ""), Stance(), unread=True)
        reading = await self._reader.read(preference.text, deadline)
        heard = _interpret_reading(preference, reading)
        if not reading.unnamed:
            self._kept.put(preference.text, (self._clock() + KEPT_SECONDS, heard))
        return heard

    def _recall_reading(self, preference: Preference) -> ParsedPreference | None:
        kept = self._kept.use(preference.text)
        if kept is None or kept[0] < self._clock():
            return None
        return replace(kept[1], preference=preference)


def _interpret_reading(preference: Preference, reading: Reading) -> ParsedPreference:
    """Converts a parsed text to a lasting preference. Its conditions leave out wanted tags and authors, and exclude no title
    that the customer knows. A text about another reader states no conditions."""
    if reading.another:
        return ParsedPreference(preference, reading, Stance(), of_another=True)
    known = set(reading.known)
    kept = tuple(each for each in reading.conditions.without_titles if each not in known)
    lasting = replace(reading.conditions.but("tags", "author"), without_titles=kept)
    said = tuple(
        each for each in reading.understood if not each.obeyed or any(name in lasting.stated for name in each.about)
    )
    stance = stance_of(replace(reading, conditions=lasting), firmly=True)
    return ParsedPreference(preference, replace(reading, understood=said), stance)


def _drop_retracted(heard: Sequence[ParsedPreference]) -> tuple[ParsedPreference, ...]:
    """Sets `holds` of each preference to the conditions that no later one replaces or takes back. Keeps the order."""
    later: list[Stance] = []
    held: list[ParsedPreference] = []
    for each in reversed(heard):
        holds = each.stance.conditions
        for stance in later:
            holds = stance.leaves(holds)
        later.append(each.stance)
        held.append(replace(each, holds=holds))
    return tuple(reversed(held))
