"""A repeated idempotency key gets the first answer without the work, whatever the state of Redis."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from session.begin import CacheKey, decode, encode
from session.failures import MemoryUnavailable
from session.resilience.deadline import Deadline
from tests.support.calls import IDS, QUERY, TITLE
from tests.support.pipeline import Answer, Kit, Opener
from tests.support.store import Backends, Mood
from tests.support.valkey import ask, eventually

pytestmark = pytest.mark.virtual_time


def record_of(answer: Answer) -> CacheKey:
    claim = answer.call.required_begin.request.claim
    assert claim is not None
    return claim.record


async def test_repeated_idempotency_key_returns_the_first_answer_without_work(kit: Kit) -> None:
    first = await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    again = await kit.ask("check_inventory", IDS, user="u", session="other", idempotency_key="k")
    assert again.value == first.value
    assert kit.calls_of("availability") == 1
    assert again.meta["source"] == "live"


async def test_idempotency_key_with_other_arguments_or_another_tool_is_refused(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    for tool, arguments in (("check_inventory", {"title_ids": ["manga-000003"]}), ("get_manga_details", TITLE)):
        answer = await kit.ask(tool, arguments, user="u", idempotency_key="k")
        assert answer.failure == "VALIDATION_ERROR"
        assert "another tool or other arguments" in answer.texts[0]


async def test_idempotency_keys_are_separate_per_user_and_anonymous_session(kit: Kit) -> None:
    for n, who in enumerate([{"user": "u"}, {"user": "v"}, {"session": "s"}, {"session": "t"}, {}, {}], start=1):
        answer = await kit.ask("check_inventory", {"title_ids": [f"manga-00000{n}"]}, idempotency_key="k", **who)
        assert answer.failure is None
    assert len(await ask(kit.redis, "KEYS", "manga:mcp:once:*")) == 4


OTHER_IDS = {"title_ids": ["manga-000003"]}


@pytest.mark.parametrize(
    ("arguments", "stated"),
    [
        (IDS, {"user": "v", "idempotency_key": "k"}),
        (IDS, {"session": "s", "idempotency_key": "k"}),
        (IDS, {"user": "u", "idempotency_key": "another"}),
        (OTHER_IDS, {"user": "u", "idempotency_key": "another"}),
    ],
)
async def test_record_moved_to_another_caller_key_or_call_is_not_replayed(
    kit: Kit, arguments: dict[str, Any], stated: dict[str, str]
) -> None:
    """Whoever writes to Redis can put a recorded result under another name."""
    first = await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    other = await kit.ask("check_inventory", arguments, **stated)
    foreign = await ask(kit.redis.inner, "HGET", record_of(first).name, "result")
    await ask(kit.redis.inner, "HSET", record_of(other).name, "result", foreign)
    kit.clock.advance(6)
    asked = kit.calls_of("availability")
    assert (await kit.ask("check_inventory", arguments, **stated)).failure is None
    assert kit.calls_of("availability") == asked + 1


async def test_record_is_replayed_by_processes_with_the_same_key_of_the_fleet_alone(opener: Opener, moody: Backends) -> None:
    for fleet_key, asked in ((None, 1), (None, 1), ("1" * 32, 2), ("1" * 32, 2), ("2" * 32, 3)):
        kit = await opener(fleet_key=fleet_key)
        answer = await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
        assert (answer.failure, kit.calls_of("availability")) == (None, asked)


async def test_duplicate_of_a_running_call_joins_it(kit: Kit) -> None:
    kit.backends.stock.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session="s", idempotency_key="k"))
    await eventually(lambda: len(kit.redis.trips) == 2)
    kit.backends.stock.gate.set()
    assert (await second).value == (await first).value
    assert kit.calls_of("availability") == 1


async def test_duplicate_of_a_call_that_just_ended_joins_it_too(kit: Kit) -> None:
    """The first call was running when Redis was asked and is not yet settled, but its outcome is known here."""
    kit.backends.stock.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    inner, asked, release = kit.redis.inner, asyncio.Event(), asyncio.Event()

    class Slow:
        async def trip(self, steps: Any, deadline: Deadline) -> Any:
            replies = await inner.trip(steps, Deadline.after(5))
            asked.set()
            await release.wait()
            return replies

        async def aclose(self) -> None: ...

    kit.redis.inner = Slow()  # type: ignore[assignment]
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session="s", idempotency_key="k"))
    await asked.wait()
    kit.redis.inner = inner
    kit.backends.stock.gate.set()
    done = await first
    release.set()
    assert (await second).value == done.value
    assert kit.calls_of("availability") == 1


async def test_duplicate_of_a_call_in_another_process_gets_server_busy(opener: Opener, moody: Backends) -> None:
    here, there = await opener(), await opener()
    moody.stock.gate = asyncio.Event()
    first = asyncio.create_task(here.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: here.calls_of("availability") == 1)
    answer = await there.ask("check_inventory", IDS, user="u", idempotency_key="k")
    assert (answer.failure, answer.outcome.failure.retry_after_ms) == ("SERVER_BUSY", 100)  # type: ignore[union-attr]
    assert answer.result["structuredContent"]["error"]["data"]["fallback_available"]
    moody.stock.gate.set()
    assert (await there.ask("check_inventory", IDS, user="u", idempotency_key="other")).failure is None
    done = await first
    assert (await there.ask("check_inventory", IDS, user="u", idempotency_key="k")).value == done.value


async def test_failed_call_frees_its_key_and_joined_duplicates_are_told_to_retry(kit: Kit) -> None:
    kit.backends.orders.gate = asyncio.Event()
    plain = replace(kit.registry.get("check_inventory").tool, fallback=None)  # type: ignore[union-attr]
    kit.exchange("check_inventory", tool=plain)
    kit.backends.stock.mood = Mood.HANGS
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    patient = replace(plain, timeout_ms=1000)
    kit.exchange("check_inventory", tool=patient)
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    assert [(await first).failure, (await second).failure] == ["TIMEOUT", "SERVER_BUSY"]
    kit.backends.stock.mood = Mood.WORKS
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure is None


async def test_duplicate_waits_no_longer_than_its_own_deadline(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("search") == 1)
    hurried = await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k", turn="t", turn_budget_ms=310)
    assert hurried.failure == "TIMEOUT"
    kit.backends.catalog.gate.set()
    assert (await first).failure is None


async def test_cancelled_call_frees_its_idempotency_key_at_once(kit: Kit) -> None:
    """The caller whose connection broke will retry with the same key."""
    kit.backends.stock.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    kit.backends.stock.gate.set()
    await free_key(kit)
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure is None


async def free_key(kit: Kit) -> None:
    """The call has ended before its key is given back."""
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "release of an idempotency key"))
    assert await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*") == [], "the key is held still"


async def test_call_with_an_unexpected_error_frees_its_idempotency_key(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.backends.stock.mood = Mood.BREAKS
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure == "INTERNAL_ERROR"
    kit.backends.stock.mood = Mood.WORKS
    await free_key(kit)
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure is None
    assert "failed unexpectedly" in caplog.text


async def test_fallback_and_partial_answers_are_not_recorded_for_replay(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    first = await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k")
    assert first.meta["source"] == "fallback"
    kit.backends.catalog.mood, kit.backends.stock.mood = Mood.WORKS, Mood.FAILS
    kit.clock.advance(6)
    second = await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k")
    assert (second.meta["source"], second.meta["degraded"]) == ("live", ["stock"])
    kit.backends.stock.mood = Mood.WORKS
    third = await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k")
    assert third.meta["degraded"] == []
    assert third.value["results"][0]["price_jpy"] is not None


async def test_duplicate_that_joins_a_partial_answer_is_told_that_it_is_degraded(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    kit.backends.stock.mood = Mood.FAILS
    tasks = [
        asyncio.create_task(kit.ask("search_manga_catalog", QUERY, user="u", session=f"s{n}", idempotency_key="k"))
        for n in range(2)
    ]
    await eventually(lambda: len(kit.redis.trips) == 2)
    await eventually(lambda: kit.calls_of("search") == 1)
    kit.backends.catalog.gate.set()
    assert [answer.meta["degraded"] for answer in await asyncio.gather(*tasks)] == [["stock"], ["stock"]]


async def test_key_lost_by_redis_during_a_call_does_not_run_it_twice(kit: Kit) -> None:
    kit.backends.stock.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    await ask(kit.redis.inner, "FLUSHALL")
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session="s", idempotency_key="k"))
    await eventually(lambda: len(kit.redis.trips) == 2)
    kit.backends.stock.gate.set()
    assert [(await first).failure, (await second).failure] == [None, None]
    assert kit.calls_of("availability") == 1
    await asyncio.sleep(1)  # in virtual time: nobody knows the first call any more
    third = await kit.ask("check_inventory", IDS, user="u", session="t", idempotency_key="k")
    assert third.failure is None, "the second one has given back what it had claimed"


async def test_duplicate_of_a_running_call_joins_it_without_redis(kit: Kit) -> None:
    class Away:
        async def trip(self, *_: Any) -> Any:
            raise MemoryUnavailable("away")

        async def aclose(self) -> None: ...

    kit.redis.inner = Away()  # type: ignore[assignment]
    kit.backends.stock.gate = asyncio.Event()
    tasks = [
        asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session=f"s{n}", idempotency_key="k"))
        for n in range(3)
    ]
    await eventually(lambda: len(kit.redis.trips) == 3)
    kit.backends.stock.gate.set()
    answers = await asyncio.gather(*tasks)
    assert [answer.failure for answer in answers] == [None] * 3
    assert kit.calls_of("availability") == 1
    assert [answer.meta["degraded"] for answer in answers] == [["session"]] * 3


PLAIN = encode({"items": [], "not_found": ["manga-000001"], "unanswered": []}, 1.0)
"""A result that fits the tool, as releases up to 1.0.0 and anybody with access to Redis can write it."""


@pytest.mark.parametrize(
    "unreadable", [b"nonsense", b"", b"1 []", b"1 {}", b'1 {"items": 5, "not_found": [], "unanswered": []}', PLAIN]
)
async def test_unreadable_idempotency_record_is_claimed_anew_and_overwritten(kit: Kit, unreadable: bytes) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    (name,) = await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*")
    await ask(kit.redis.inner, "HSET", name, "result", unreadable)
    kit.clock.advance(6)
    again = await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    assert again.failure is None
    assert len(kit.redis.trips) == 4
    assert kit.calls_of("availability") == 2, "not replayed"
    recorded = decode(await ask(kit.redis.inner, "HGET", name, "result"), record_of(again))
    assert recorded is not None
    assert recorded.value == again.value
    assert 0 < await ask(kit.redis.inner, "PTTL", name) <= 600_000
    asked = kit.calls_of("availability")
    kit.clock.advance(12)
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).value == again.value
    assert kit.calls_of("availability") == asked, "replayed"


async def test_failed_call_after_an_unreadable_record_frees_the_key(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    (name,) = await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*")
    await ask(kit.redis.inner, "HSET", name, "result", "nonsense")
    kit.backends.stock.mood = Mood.FAILS
    kit.clock.advance(1000)
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure == "DEPENDENCY_FAILURE"
    assert not await ask(kit.redis.inner, "EXISTS", name)


async def test_redis_value_of_another_type_is_claimed_anew(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    (name,) = await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*")
    await ask(kit.redis.inner, "SET", name, "a string")
    kit.clock.advance(6)
    answer = await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    assert (answer.failure, answer.meta["degraded"]) == (None, [])
    assert await ask(kit.redis.inner, "HEXISTS", name, "result")


async def test_concurrent_duplicates_of_an_unreadable_record_run_once(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    (name,) = await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*")
    await ask(kit.redis.inner, "HSET", name, "result", "nonsense")
    kit.clock.advance(6)
    kit.backends.stock.gate = asyncio.Event()
    asked = kit.calls_of("availability")
    tasks = [asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k")) for _ in range(3)]
    await eventually(lambda: len(kit.redis.trips) == 5)
    await eventually(lambda: kit.calls_of("availability") > asked)
    kit.backends.stock.gate.set()
    answers = await asyncio.gather(*tasks)
    assert [answer.failure for answer in answers] == [None] * 3
    assert kit.calls_of("availability") == asked + 1


async def test_malformed_idempotency_key_is_refused_before_any_round_trip(kit: Kit) -> None:
    answer = await kit.ask("check_inventory", IDS, user="u", idempotency_key="a key")
    assert (answer.failure, kit.redis.trips) == ("VALIDATION_ERROR", [])


async def test_duplicate_of_a_running_call_joins_it_after_a_reload_of_the_same_tool(kit: Kit) -> None:
    kit.backends.stock.gate = asyncio.Event()
    first = kit.call("check_inventory", IDS, user="u", idempotency_key="k")
    running = asyncio.create_task(kit.run(first))
    await eventually(lambda: kit.calls_of("availability") == 1)
    kit.registry.register(first.tool.tool)
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session="s", idempotency_key="k"))
    await eventually(lambda: len(kit.redis.trips) >= 2)
    kit.backends.stock.gate.set()
    assert (await second).value == (await running).value
    assert kit.calls_of("availability") == 1
