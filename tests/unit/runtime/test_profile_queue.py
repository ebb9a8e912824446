"""The queue of profile events writes behind the calls, in batches, bounded, and drops rather than waits."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest

from server.call import Call, RequestMetadata
from server.stages.remember import BATCH_SIZE, KNOWN_SECONDS, ProfileQueue
from server.telemetry.metrics import Metrics
from session.profile import Event, EventKind
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tests.support.clocks import HandClock
from tests.support.inprocess import in_process
from tests.support.store import Mood, Moody
from tests.support.valkey import eventually
from tests.support.virtual_time import running_clock
from tools.store.backends.embedded.customers import EmbeddedCustomers

NUMBERS = count(1)


def event(subject: str = "", kind: EventKind = EventKind.VIEWED) -> Event:
    return Event.make_event(kind, subject or f"manga-{next(NUMBERS):06}", datetime.now(UTC))


class Told(list[str]):
    """What became of the events."""

    def of(self, result: str) -> int:
        return self.count(result)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def profiles() -> Moody:
    return Moody(EmbeddedCustomers())


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def queue(
    profiles: Moody, told: Told, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ProfileQueue]:
    """It waits for nothing more than the events that are there at once."""
    monkeypatch.setattr("server.stages.remember.COLLECT_SECONDS", 0.0)
    monkeypatch.setattr("server.stages.remember.WRITE_SECONDS", 30.0)
    own = ProfileQueue(profiles, told.append, clock)
    yield own
    await own.aclose()


@pytest.fixture
def patient(queue: ProfileQueue, monkeypatch: pytest.MonkeyPatch) -> ProfileQueue:
    """Its second never ends."""
    monkeypatch.setattr("server.stages.remember.COLLECT_SECONDS", 3600.0)
    return queue


async def known(profiles: Moody, user: str) -> set[str]:
    profile = await profiles.inner.recall(user, Deadline.after(5))
    return {each.subject for each in profile.events}


def batches(profiles: Moody) -> list[list[tuple[str, Event]]]:
    """What was written, trip by trip."""
    return [arguments[0] for method, arguments in profiles.asked if method == "remember"]


async def turns(many: int = 20) -> None:
    """Whatever can go on without waiting does."""
    for _ in range(many):
        await asyncio.sleep(0)


async def test_each_event_is_written_for_its_own_user(queue: ProfileQueue, profiles: Moody, told: Told) -> None:
    """This holds for equal events of two users too."""
    mine, theirs, both = event(), event(), event()
    for user, each in (("u", mine), ("v", theirs), ("v", both), ("u", both)):
        queue.put(user, each)
    await eventually(lambda: told == ["written"] * 4)
    assert await known(profiles, "u") == {mine.subject, both.subject}
    assert await known(profiles, "v") == {theirs.subject, both.subject}


async def test_batch_of_many_users_keeps_their_events_apart(patient: ProfileQueue, profiles: Moody, told: Told) -> None:
    """Fifty users and two hundred events, all mixed: no event of one is ever under another."""
    users = [f"user-{n}" for n in range(50)]
    for number in range(4):
        for user in users:
            patient.put(user, event(f"{user}/{number}"))
    await patient.aclose()
    assert told == ["written"] * 200
    for user in users:
        assert await known(profiles, user) == {f"{user}/{number}" for number in range(4)}


async def test_events_are_collected_until_there_are_enough_for_one_write(
    patient: ProfileQueue, profiles: Moody, told: Told
) -> None:
    """The writer waits until enough events have come to be worth a round trip."""
    for _ in range(BATCH_SIZE - 1):
        patient.put("u", event())
        await turns()
    assert (batches(profiles), told) == ([], [])
    patient.put("u", event())
    await eventually(lambda: told == ["written"] * BATCH_SIZE)
    patient.put("u", event())
    await turns()
    (batch,) = batches(profiles)  # the next second is another
    assert len(batch) == BATCH_SIZE


async def test_single_event_is_written_after_the_collection_time(
    queue: ProfileQueue, profiles: Moody, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.stages.remember.COLLECT_SECONDS", 0.01)
    for number in (1, 2):
        queue.put("u", event())
        await eventually(lambda number=number: told == ["written"] * number)
    assert [len(batch) for batch in batches(profiles)] == [1, 1]


async def test_latest_of_repeated_waiting_events_is_written(patient: ProfileQueue, profiles: Moody, told: Told) -> None:
    """An event of another kind about the same subject is a different event."""
    first = Event(EventKind.VIEWED, "x", "2026-11-02T09:30:00.000Z")
    last = Event(EventKind.VIEWED, "x", "2026-11-02T09:30:00.900Z")
    searched = Event(EventKind.SEARCHED, "x", "2026-11-02T09:30:00.500Z")
    for each in (first, searched, last):
        patient.put("u", each)
        await turns()
    await patient.aclose()
    assert batches(profiles) == [[("u", last), ("u", searched)]]
    assert told == ["repeated", "written", "written"]


async def test_written_event_is_not_written_again_within_ten_minutes(
    queue: ProfileQueue, profiles: Moody, told: Told, clock: HandClock
) -> None:
    """The same event of another user is written."""
    queue.put("u", event("x"))
    await eventually(lambda: told == ["written"])
    for _ in range(3):
        clock.advance(KNOWN_SECONDS / 4)
        queue.put("u", event("x"))
    assert told == ["written", "repeated", "repeated", "repeated"]
    queue.put("v", event("x"))
    await eventually(lambda: told.of("written") == 2)
    clock.advance(KNOWN_SECONDS / 4)
    queue.put("u", event("x"))
    await eventually(lambda: told.of("written") == 3)
    assert [[user for user, _ in batch] for batch in batches(profiles)] == [["u"], ["v"], ["u"]]


async def test_event_being_written_is_not_written_again(queue: ProfileQueue, profiles: Moody, told: Told) -> None:
    profiles.gate = asyncio.Event()
    queue.put("u", event("x"))
    await eventually(lambda: len(profiles.asked) == 1)
    queue.put("u", event("x"))
    profiles.gate.set()
    await queue.aclose()
    assert told == ["repeated", "written"]
    assert len(batches(profiles)) == 1


async def test_memory_of_written_events_is_bounded(
    queue: ProfileQueue, told: Told, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps the latest events, and none that would be written again anyway."""
    monkeypatch.setattr(queue, "_known", Lru(3))
    for number in range(5):
        queue.put("u", event(f"x-{number}"))
        await eventually(lambda number=number: told.of("written") == number + 1)
    assert [subject for _, _, subject in queue._known] == ["x-2", "x-3", "x-4"]
    clock.advance(KNOWN_SECONDS)
    queue.put("u", event("x-2"))
    await eventually(lambda: told.of("written") == 6)
    assert [subject for _, _, subject in queue._known] == ["x-2"]


async def test_put_never_blocks_and_one_batch_is_written_at_a_time(queue: ProfileQueue, profiles: Moody, told: Told) -> None:
    profiles.gate = asyncio.Event()
    queue.put("u", event())
    await eventually(lambda: len(profiles.asked) == 1)
    for _ in range(3 * BATCH_SIZE):
        queue.put("u", event())
    await turns()
    assert (len(profiles.asked), told) == (1, [])
    profiles.gate.set()
    await eventually(lambda: told.of("written") == 3 * BATCH_SIZE + 1)
    assert [len(batch) for batch in batches(profiles)] == [1, 3 * BATCH_SIZE]


async def test_event_beyond_the_queue_limit_is_dropped_and_counted(
    queue: ProfileQueue, profiles: Moody, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.stages.remember.MOST_WAITING", 5)
    profiles.gate = asyncio.Event()
    queue.put("u", event())
    await eventually(lambda: len(profiles.asked) == 1)
    for _ in range(5 + 3):
        queue.put("u", event())
    assert told == ["dropped"] * 3
    profiles.gate.set()
    await eventually(lambda: told.of("written") == 1 + 5)


@pytest.mark.parametrize("mood", [Mood.FAILS, Mood.THROTTLES, Mood.BREAKS, Mood.DROPS])
async def test_failed_batch_is_dropped_and_the_next_one_is_written(
    queue: ProfileQueue, profiles: Moody, told: Told, mood: Mood, caplog: pytest.LogCaptureFixture
) -> None:
    """It is asked once. What was lost counts as new when it happens again. What nobody foresaw is logged by its kind alone:
    its text may hold anything."""
    profiles.mood = mood
    for subject in "xyz":
        queue.put("a-user-of-mine", event(subject))
    await eventually(lambda: told == ["dropped"] * 3)
    assert len(batches(profiles)) == 1
    profiles.mood = Mood.WORKS
    queue.put("a-user-of-mine", event("x"))
    await eventually(lambda: told == ["dropped"] * 3 + ["written"])
    (said,) = [record.getMessage() for record in caplog.records]
    if mood is Mood.BREAKS:
        assert said == "events could not be written to profiles: KeyError"
    else:
        assert re.fullmatch(r"the writing of profiles is lost: [A-Za-z_]+", said)
    assert "hunter2" not in caplog.text
    assert "a-user-of-mine" not in caplog.text


async def test_hanging_write_is_cancelled_at_its_timeout(
    queue: ProfileQueue, profiles: Moody, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.stages.remember.WRITE_SECONDS", 0.02)
    profiles.mood = Mood.HANGS
    queue.put("u", event())
    await eventually(lambda: told == ["dropped"])
    assert profiles.cancelled == 1


async def test_closing_writes_the_waiting_events(patient: ProfileQueue, profiles: Moody, told: Told) -> None:
    """It writes the batch under way and later events, without waiting for more."""
    profiles.gate = asyncio.Event()
    for _ in range(BATCH_SIZE):
        patient.put("u", event())
    await eventually(lambda: len(profiles.asked) == 1)
    patient.put("u", event())
    closing = asyncio.create_task(patient.aclose())
    await turns()
    profiles.gate.set()
    await closing
    assert told == ["written"] * (BATCH_SIZE + 1)
    assert len(await known(profiles, "u")) == BATCH_SIZE + 1


async def test_closing_cancels_a_hanging_write_and_drops_the_rest(
    patient: ProfileQueue, profiles: Moody, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting batches are dropped, and new events are no longer taken."""
    monkeypatch.setattr("server.stages.remember.DRAIN_SECONDS", 0.02)
    profiles.mood = Mood.HANGS
    for _ in range(BATCH_SIZE):
        patient.put("u", event())
    await eventually(lambda: len(profiles.asked) == 1)
    patient.put("u", event())
    await patient.aclose()
    patient.put("u", event())
    assert (profiles.cancelled, len(profiles.asked)) == (1, 1)
    assert told == ["dropped"] * (BATCH_SIZE + 2)


async def test_closing_an_unused_queue_writes_nothing(queue: ProfileQueue, profiles: Moody, told: Told) -> None:
    await queue.aclose()
    assert (profiles.asked, told) == ([], [])


@pytest.mark.virtual_time
async def test_events_are_collected_for_a_second_and_known_for_ten_minutes(profiles: Moody, told: Told) -> None:
    """As many as make a batch are written at once, within half a second, while a thousand others may wait."""
    clock = running_clock()
    queue = ProfileQueue(profiles, told.append, clock)
    queue.put("u", event("x"))
    await asyncio.sleep(0.9)
    assert told == []
    await asyncio.sleep(0.2)
    assert told == ["written"]
    clock.now = 600.9375
    queue.put("u", event("x"))
    assert told == ["written", "repeated"]
    clock.now = 601.0
    queue.put("u", event("x"))
    await asyncio.sleep(1.1)
    assert told == ["written", "repeated", "written"]
    await queue.aclose()
    profiles.mood = Mood.HANGS
    profiles.asked.clear()
    told.clear()
    queue = ProfileQueue(profiles, told.append, running_clock())
    for _ in range(25):
        queue.put("u", event())
    await asyncio.sleep(0.4)
    for _ in range(1001):
        queue.put("u", event())
    assert (len(batches(profiles)), told) == (1, ["dropped"]), "while the first batch is being written"
    await asyncio.sleep(0.2)
    assert (len(batches(profiles)), told) == (2, ["dropped"] * 26)
    began = running_clock()()
    queue.put("u", event())
    await queue.aclose()
    assert running_clock()() - began == pytest.approx(0.5)
    assert told == ["dropped"] * 1027


def test_profile_events_are_counted_by_result_alone() -> None:
    """In the Prometheus output no label holds anything of a customer."""
    metrics = Metrics()
    tell: Callable[[str], None] = metrics.count_profile_event
    for result in ("written", "repeated", "written", "dropped"):
        tell(result)
    lines = [line for line in metrics.text_for("")[0].decode().splitlines() if line.startswith("manga_profile_events_total")]
    assert sorted(lines) == [
        'manga_profile_events_total{result="dropped"} 1.0',
        'manga_profile_events_total{result="repeated"} 1.0',
        'manga_profile_events_total{result="written"} 2.0',
    ]


# -- the application


async def test_hanging_profile_write_does_not_delay_the_end_of_the_application() -> None:
    """In the wired server a hanging write is cancelled and counted."""
    profiles = Moody(None, Mood.HANGS)
    async with in_process(lambda ports: replace(ports, profiles=profiles)) as running:
        app = running.app
        details = app.registry.get("get_manga_details")
        assert details is not None
        call = Call("c", details, {"title_id": "manga-001001"}, RequestMetadata(user="reader"), time.monotonic())
        assert (await app.pipeline.run(call)).has_succeeded
        await eventually(lambda: profiles.asked != [])
        states = await app.dependencies.states()
        assert (states["profile"]["state"], states["orders"]["state"]) == ("down", "ok")
    assert profiles.cancelled >= 1
    assert 'manga_profile_events_total{result="dropped"} 1.0' in app.metrics.text_for("")[0].decode()
