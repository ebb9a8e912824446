"""Preferences are read once and cached; without time to read them they are reported as unread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from session.preferences import Preference
from session.resilience.deadline import Deadline
from tests.support.clocks import HandClock
from tools.store.models import Conditions
from tools.store.preferences import PreferenceReader
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading, Understood

STATED = tuple(
    Preference(text, "2026-11-23") for text in ("no gore, no horror", "at most 900 yen a volume", "gore is fine now")
)


class Counted(Reader):
    """A reader of no catalogue that counts what it reads."""

    def __init__(self) -> None:
        self.read_texts: list[str] = []
        self.unnamed = False
        self.reading: Reading | None = None

    async def read(self, text: str, deadline: Deadline) -> Reading:
        self.read_texts.append(text)
        return self.reading or Reading(text, text, unnamed=self.unnamed)


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
    clock.advance(599.5)
    await reader.read_all(STATED[1:], soon)
    assert len(counted.read_texts) == len(STATED)
    clock.advance(1)
    await reader.read_all(STATED, soon)
    assert len(counted.read_texts) == 2 * len(STATED)


async def test_preferences_stated_together_are_compared_once(counted: Counted, clock: HandClock) -> None:
    reader, soon = PreferenceReader(counted, clock), Deadline.after(5)
    first = await reader.read_all(STATED, soon)
    clock.advance(599.5)
    assert await reader.read_all(STATED, soon) is first
    clock.advance(0.5)
    assert await reader.read_all(STATED, soon) is not first


async def test_two_thousand_texts_and_five_hundred_lists_are_remembered(counted: Counted, clock: HandClock) -> None:
    reader, soon = PreferenceReader(counted, clock), Deadline.after(30)
    many = [Preference(f"no {number}", "2026-11-23") for number in range(2001)]
    for each in many[:2000]:
        await reader.read(each, soon)
    first = await reader.read_all(many[:1], soon)
    for each in many[1:500]:
        await reader.read_all([each], soon)
    assert (len(counted.read_texts), await reader.read_all(many[:1], soon) is first) == (2000, True)
    for each in many[1:501]:
        await reader.read_all([each], soon)
    assert await reader.read_all(many[:1], soon) is not first
    await reader.read(many[2000], soon)
    await reader.read_all(many[501:502], soon)
    assert counted.read_texts[2000:] == ["no 2000", "no 501"], "which was used the longest ago"


async def test_reading_with_unresolved_names_is_not_cached(counted: Counted, clock: HandClock) -> None:
    reader, soon = PreferenceReader(counted, clock), Deadline.after(5)
    counted.unnamed = True
    for _ in range(2):
        await reader.read_all(STATED, soon)
    assert len(counted.read_texts) == 2 * len(STATED)


async def test_preference_is_unread_without_time_and_read_by_the_next_call(counted: Counted, clock: HandClock) -> None:
    reader = PreferenceReader(counted, clock)
    least = HandClock(0.0)
    for seconds in (0.0, 0.004):
        given = Deadline.after(seconds, least)
        assert all(each.unread and not each.is_obeyed for each in await reader.read_all(STATED, given))
    assert not any(each.unread for each in await reader.read_all(STATED, Deadline.after(0.005, least)))


async def test_preference_lasts_without_what_it_asks_for_once(counted: Counted, clock: HandClock) -> None:
    """Tags and an author are wishes of one search, and titles that the customer knows may be shown."""
    said = (
        Understood("Gore", "gore", about=("tags",)),
        Understood("without Horror, by Oda", "no horror", about=("tags", "without_tags")),
        Understood("finished", "over", obeyed=False, about=("statuses",)),
        Understood("something", "so", about=()),
    )
    asked = Conditions(tags=(("Gore",),), author="Oda", without_tags=("Horror",), without_titles=("t1", "t2"))
    counted.reading = Reading("", "", asked, known=("t1",), understood=said, endorsed=frozenset({"Gore", ""}), adult=True)
    (heard,) = await PreferenceReader(counted, clock).read_all(STATED[:1], Deadline.after(5))
    assert heard.holds == heard.stance.conditions == Conditions(without_tags=("Horror",), without_titles=("t2",))
    assert (heard.is_obeyed, heard.of_another, heard.unread) == (True, False, False)
    assert (heard.understood, heard.doubted) == (["without Horror, by Oda"], ["over"])
    assert (heard.stance.welcome, heard.stance.adult) == ({"Gore"}, True)
    counted.reading = replace(counted.reading, another=True)
    heard = await PreferenceReader(counted, clock).read(STATED[0], Deadline.after(5))
    assert (heard.is_obeyed, heard.of_another, heard.stance.stated) == (False, True, False)
