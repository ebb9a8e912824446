"""Preferences are read once and cached; without time to read them they are reported as unread."""

from __future__ import annotations

import pytest

from session.preferences import Preference
from session.resilience.deadline import Deadline
from tests.support.clocks import HandClock
from tools.store.preferences import KEPT_SECONDS, PreferenceReader
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

STATED = tuple(
    Preference(text, "2026-11-23") for text in ("no gore, no horror", "at most 900 yen a volume", "gore is fine now")
)


class Counted(Reader):
    """A reader of no catalogue that counts what it reads."""

    def __init__(self) -> None:
        self.read_texts: list[str] = []
        self.unnamed = False

    async def read(self, text: str, deadline: Deadline) -> Reading:
        self.read_texts.append(text)
        return Reading(text, text, unnamed=self.unnamed)


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


async def test_preference_text_is_read_once_until_its_cache_entry_expires(counted: Counted, clock: HandClock) -> None:
    reader, soon = PreferenceReader(counted, clock), Deadline.after(5)
    for _ in range(3):
        heard = await reader.read_all(STATED, soon)
        await reader.read_all(STATED[:2], soon)
    assert [each.preference for each in heard] == list(STATED)
    assert counted.read_texts == [each.text for each in STATED]
    clock.advance(KEPT_SECONDS + 1)
    await reader.read_all(STATED, soon)
    assert len(counted.read_texts) == 2 * len(STATED)


async def test_preferences_stated_together_are_compared_once(counted: Counted, clock: HandClock) -> None:
    reader, soon = PreferenceReader(counted, clock), Deadline.after(5)
    first = await reader.read_all(STATED, soon)
    assert await reader.read_all(STATED, soon) is first
    clock.advance(KEPT_SECONDS + 1)
    assert await reader.read_all(STATED, soon) is not first


async def test_reading_with_unresolved_names_is_not_cached(counted: Counted, clock: HandClock) -> None:
    reader, soon = PreferenceReader(counted, clock), Deadline.after(5)
    counted.unnamed = True
    for _ in range(2):
        await reader.read_all(STATED, soon)
    assert len(counted.read_texts) == 2 * len(STATED)


async def test_preference_is_unread_without_time_and_read_by_the_next_call(counted: Counted, clock: HandClock) -> None:
    reader = PreferenceReader(counted, clock)
    assert all(each.unread and not each.is_obeyed for each in await reader.read_all(STATED, Deadline.after(0)))
    assert not any(each.unread for each in await reader.read_all(STATED, Deadline.after(5)))
