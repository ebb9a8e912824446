"""Events on their way into profiles: behind the calls, bounded, and dropped rather than waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from itertools import count

import pytest

from server.profile_queue import AT_ONCE, ProfileQueue
from server.telemetry.metrics import Metrics
from session.deadline import Deadline
from session.profile import Event, EventKind
from tests.support.store import Mood, Moody
from tests.support.valkey import eventually
from tools.backends.embedded.profile import EmbeddedProfiles

NUMBERS = count(1)


def event() -> Event:
    return Event.happened(EventKind.VIEWED, f"manga-{next(NUMBERS):06}", datetime.now(UTC))


class Told(list[str]):
    """What became of the events."""

    def of(self, result: str) -> int:
        return self.count(result)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def profiles() -> Moody:
    return Moody(EmbeddedProfiles())


@pytest.fixture
async def queue(profiles: Moody, told: Told) -> AsyncIterator[ProfileQueue]:
    own = ProfileQueue(profiles, told.append)
    yield own
    await own.aclose()


async def known(profiles: Moody, user: str) -> set[str]:
    profile = await profiles.inner.recall(user, Deadline.after(5))
    return {each.subject for each in profile.events}


async def test_what_is_put_is_written_for_its_user(queue: ProfileQueue, profiles: Moody, told: Told) -> None:
    mine, theirs = event(), event()
    queue.put("u", mine)
    queue.put("v", theirs)
    await eventually(lambda: told == ["written"] * 2)
    assert (await known(profiles, "u"), await known(profiles, "v")) == ({mine.subject}, {theirs.subject})


async def test_putting_waits_for_nobody_and_few_are_written_at_once(
    queue: ProfileQueue, profiles: Moody, told: Told
) -> None:
    profiles.gate = asyncio.Event()
    for _ in range(3 * AT_ONCE):
        queue.put("u", event())
    await eventually(lambda: len(profiles.asked) == AT_ONCE)
    assert told == []
    profiles.gate.set()
    await eventually(lambda: told.of("written") == 3 * AT_ONCE)
    assert len(await known(profiles, "u")) == 3 * AT_ONCE


async def test_what_finds_no_room_is_dropped_and_counted(
    queue: ProfileQueue, profiles: Moody, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.profile_queue.MOST_WAITING", 5)
    profiles.gate = asyncio.Event()
    for _ in range(AT_ONCE + 5 + 3):
        queue.put("u", event())
    assert told == ["dropped"] * 3
    profiles.gate.set()
    await eventually(lambda: told.of("written") == AT_ONCE + 5)


@pytest.mark.parametrize("mood", [Mood.FAILS, Mood.THROTTLES, Mood.BREAKS])
async def test_a_backend_that_fails_costs_its_events_and_the_next_are_written(
    queue: ProfileQueue, profiles: Moody, told: Told, mood: Mood, caplog: pytest.LogCaptureFixture
) -> None:
    """What nobody foresaw is logged by its kind alone: its text may hold anything."""
    profiles.mood = mood
    queue.put("a-user-of-mine", event())
    await eventually(lambda: told == ["dropped"])
    profiles.mood = Mood.WORKS
    queue.put("a-user-of-mine", event())
    await eventually(lambda: told == ["dropped", "written"])
    assert [record.getMessage() for record in caplog.records] == (
        ["an event could not be written to a profile: KeyError"] if mood is Mood.BREAKS else []
    )
    assert "hunter2" not in caplog.text
    assert "a-user-of-mine" not in caplog.text


async def test_closing_gives_what_waits_a_moment(queue: ProfileQueue, profiles: Moody, told: Told) -> None:
    profiles.gate = asyncio.Event()
    for _ in range(2 * AT_ONCE):
        queue.put("u", event())
    closing = asyncio.create_task(queue.aclose())
    await eventually(lambda: len(profiles.asked) == AT_ONCE)
    profiles.gate.set()
    await closing
    assert told == ["written"] * 2 * AT_ONCE


async def test_closing_lets_go_of_what_hangs(
    queue: ProfileQueue, profiles: Moody, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those under way are cancelled, those that wait are dropped, and nothing is taken any more."""
    monkeypatch.setattr("server.profile_queue.DRAIN_SECONDS", 0.02)
    profiles.mood = Mood.HANGS
    for _ in range(2 * AT_ONCE):
        queue.put("u", event())
    await queue.aclose()
    queue.put("u", event())
    assert (profiles.cancelled, len(profiles.asked)) == (AT_ONCE, AT_ONCE)
    await eventually(lambda: told == ["dropped"] * (2 * AT_ONCE + 1))


def test_events_are_counted_by_what_became_of_them_and_nothing_else() -> None:
    """As Prometheus reads it: nothing of a customer is a label."""
    metrics = Metrics()
    tell: Callable[[str], None] = metrics.profile_event
    for result in ("written", "written", "dropped"):
        tell(result)
    lines = [line for line in metrics.text().decode().splitlines() if line.startswith("manga_profile_events_total")]
    assert sorted(lines) == [
        'manga_profile_events_total{result="dropped"} 1.0',
        'manga_profile_events_total{result="written"} 2.0',
    ]
