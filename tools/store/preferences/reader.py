"""Reads preferences as queries are read, each text once for a while: calls of the same customer read the same ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from session.preferences import Preference
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.models import Conditions
from tools.store.preferences.stance import Stance, stance_of
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

MOST_KEPT = 2_000
"""Texts whose reading is kept, of some kilobytes each."""
MOST_TOGETHER = 500
"""Customers whose preferences were read beside one another."""
KEPT_SECONDS = 600.0
"""A reading hangs on what the catalogue has, and on the year."""
NEARLY_NONE = 0.005
"""Seconds; less time left is too little to read a preference for the first time."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A preference and its reading. `holds`: the part that no later one takes back. `of_another`: it is about somebody else
    ("my daughter is 8") and a note, no condition of the customer's own titles. `unread`: there was no time."""

    preference: Preference
    reading: Reading
    stance: Stance
    holds: Conditions = Conditions()
    of_another: bool = False
    unread: bool = False

    @property
    def obeyed(self) -> bool:
        """True if any part of it is a condition."""
        return bool(self.stance.conditions.stated)

    @property
    def understood(self) -> list[str]:
        """The preference's conditions in a few English words."""
        return [each.condition for each in self.reading.understood if each.obeyed and each.about] if self.obeyed else []

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
