"""Preferences are kept in the store, with a copy in Redis that no process uses beyond its validity."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from server.telemetry.audit import AuditLog
from session import keys
from session.redis.multiplexed import MultiplexedRedis
from tests.component.preferences.test_preferences import GHOSTS, NO_GHOSTS, forget, found, recommend, remember, search, told
from tests.support.pipeline import Kit, Opener
from tests.support.redis_kinds import all_keys
from tests.support.store import BAD, Mood
from tests.support.valkey import ask

pytestmark = pytest.mark.virtual_time

COPY = keys.preferences("u")


def stored(kit: Kit) -> int:
    """How often the store was asked."""
    return sum(method == "stated" for method, _ in kit.backends.preferences.asked)


async def test_call_needs_two_round_trips_with_and_without_preferences(kit: Kit) -> None:
    for _ in range(2):
        kit.redis.trips.clear()
        await search(kit, "shonen")
        assert len(kit.redis.trips) == 2
        await remember(kit, NO_GHOSTS)


async def test_preferences_are_read_from_the_store_once_per_half_hour_even_if_empty(
    kit: Kit, redis: MultiplexedRedis
) -> None:
    for _ in range(3):
        await search(kit, "shonen")
        await recommend(kit, "games", "u")
    assert stored(kit) == 1
    assert await ask(redis, "GET", COPY) == b"[]"
    assert 1790 < await ask(redis, "TTL", COPY) <= 1800


async def test_other_processes_obey_a_change_with_their_next_call(opener: Opener) -> None:
    one, other = await opener(), await opener()
    before = await search(other, "shonen")
    for _ in range(2):
        await remember(one, NO_GHOSTS)
        assert GHOSTS not in found(await search(other, "shonen"))
        await forget(one, "all")
        after = await search(other, "shonen")
        assert (found(after), told(after)) == (found(before), told(before))


async def test_concurrent_reader_does_not_overwrite_a_newer_copy(kit: Kit, redis: MultiplexedRedis) -> None:
    """A call that found no copy writes its own only where there is still none."""
    own = kit.store.preferences
    step = own.copy("u", ())
    await remember(kit, NO_GHOSTS)
    await kit.memory.end([step])
    assert NO_GHOSTS.encode() in await ask(redis, "GET", COPY)
    assert GHOSTS not in found(await search(kit, "shonen"))


@pytest.mark.parametrize(
    "copy", [b"", b"nonsense", b"{}", b"[[1, 2]]", b'[["x", "2026"]]', b'[["' + b"x" * 999 + b'", "2026-11-23"]]']
)
async def test_malformed_copy_in_redis_is_ignored_for_the_store(kit: Kit, redis: MultiplexedRedis, copy: bytes) -> None:
    await remember(kit, NO_GHOSTS)
    await ask(redis, "SET", COPY, copy)
    assert GHOSTS not in found(await search(kit, "shonen"))


async def test_preferences_are_read_from_the_store_while_redis_is_away(opener: Opener, redis: MultiplexedRedis) -> None:
    kit = await opener()
    await remember(kit, NO_GHOSTS)
    kit.redis.inner.away = True  # type: ignore[attr-defined]
    answer = await search(kit, "shonen")
    assert GHOSTS not in found(answer)
    assert answer.meta["degraded"] == ["session"]


@pytest.mark.parametrize("mood", BAD)
async def test_call_without_readable_preferences_answers_and_says_so(kit: Kit, mood: Mood) -> None:
    kit.backends.preferences.mood = mood
    for answer in (await search(kit, "shonen"), await recommend(kit, "games", "u")):
        assert "preferences" in answer.meta["degraded"]
        assert answer.note.count("without obeying") == 1
        assert answer.result["_meta"]["com.mangaassist/call"]["latencyMs"] < 200
    kit.backends.catalog.mood = Mood.FAILS
    assert (await search(kit, "games")).note.count("without obeying") == 1, "on a rung below as well"


async def test_unreadable_preferences_leave_a_short_turn_time_for_its_answer(kit: Kit) -> None:
    kit.backends.preferences.mood = Mood.HANGS
    asked = {"query": "shonen", "max_results": 10}
    answer = await kit.ask("search_manga_catalog", asked, user="u", session="s", turn="t", turn_budget_ms="310")
    assert (answer.meta["source"], answer.meta["degraded"]) == ("live", ["preferences"])


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", ["remember_preference", "forget_preference"])
async def test_unconfirmed_change_of_preferences_is_a_failure(kit: Kit, tool: str, mood: Mood) -> None:
    await remember(kit, NO_GHOSTS)
    kit.backends.preferences.mood = mood
    answer = await kit.ask(tool, {"preference": "no romance" if tool.startswith("remember") else "all"}, user="u")
    assert answer.failure in ("DEPENDENCY_FAILURE", "TIMEOUT", "CIRCUIT_OPEN")
    kit.backends.preferences.mood = Mood.WORKS
    kit.clock.advance(60)
    assert told(await search(kit, "shonen")).keys() == {"shonen", f"remembered: {NO_GHOSTS}"}


async def test_change_without_redis_says_that_copies_last_half_an_hour(kit: Kit) -> None:
    kit.redis.inner.away = True  # type: ignore[attr-defined]
    answer = await remember(kit, NO_GHOSTS)
    assert answer.value["preferences"] == [NO_GHOSTS]
    assert "half an hour" in answer.note


async def test_idempotency_record_contains_no_preference_text(kit: Kit, redis: MultiplexedRedis) -> None:
    await remember(kit, NO_GHOSTS)
    for _ in range(2):
        await kit.ask("search_manga_catalog", {"query": "shonen"}, user="u", session="s", idempotency_key="k")
    assert NO_GHOSTS not in await everything(redis, but=COPY)


async def everything(redis: MultiplexedRedis, but: str = "") -> str:
    """All values in Redis, and all names."""
    told = []
    for name in await all_keys(redis):
        kind = await ask(redis, "TYPE", name)
        read = {b"string": ("GET", name), b"hash": ("HGETALL", name), b"list": ("LRANGE", name, 0, -1)}
        value = await ask(redis, *read[kind])
        told += [name] if name.decode() == but else [name, *(value if isinstance(value, list) else [value])]
    return b"\n".join(told).decode("utf-8", "replace")


class Lines:
    """Where an audit writes."""

    dropped = 0

    def __init__(self) -> None:
        self.told: list[str] = []

    def put(self, line: bytes, written: Callable[[bool], None] | None = None) -> bool:
        self.told.append(line.decode())
        if written is not None:
            written(True)
        return True


async def test_forgotten_preference_text_is_left_in_no_store_log_or_audit(
    opener: Opener, redis: MultiplexedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    """Before its removal it is in the store and its copy only, and afterwards nowhere."""
    caplog.set_level("DEBUG")
    audit = Lines()
    kit: Kit = await opener(audit=AuditLog(audit), log_tool_calls="all")
    words = ["幽霊は苦手なのです", "At most 502 yen a volume, thank you!", "my LOCKER has the number 4711"]
    for text in words:
        assert (await remember(kit, text)).failure is None
    for _ in range(2):
        for tool, query in (("search_manga_catalog", "query"), ("get_recommendations", "criteria")):
            answer = await kit.ask(tool, {query: "shonen"}, user="u", session="s", idempotency_key=tool)
            assert f"remembered: {words[0]}" in told(answer)
    assert (await kit.ask("search_manga_catalog", {"query": "shonen"}, user="u", session="s")).meta["source"] == "cache"
    lists = [json.loads(line) for line in audit.told]
    assert [(line["tool"], line["user"], line["what"]) for line in lists] == [
        ("remember_preference", keys.user_hash("u"), {})
    ] * len(words)
    kept_apart = [await everything(redis, but=COPY), "\n".join(audit.told), caplog.text, str(kit.events)]
    assert (await forget(kit, "all")).value["removed"] == words
    after = [
        await everything(redis),
        "\n".join(audit.told),
        caplog.text,
        str(kit.events),
        repr(kit.backends.preferences.inner),
    ]
    for text in words:
        for part in (text, text.casefold(), text[2:9]):
            assert not [place for place in (*kept_apart, *after) if part in place]


async def test_preference_is_refused_when_the_required_audit_line_is_lost(opener: Opener) -> None:
    class Deaf(Lines):
        def put(self, line: bytes, written: Callable[[bool], None] | None = None) -> bool:
            return False

    kit: Kit = await opener(audit=AuditLog(Deaf(), required=True))
    answer: Any = await remember(kit, NO_GHOSTS)
    assert answer.failure == "DEPENDENCY_FAILURE"
