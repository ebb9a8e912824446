"""Concurrent or timed out changes of preferences leave no process with a removed preference."""

from __future__ import annotations

from typing import Any

import pytest

from session.preferences import Preference, StoredPreferences
from session.redis.multiplexed import MultiplexedRedis
from tests.component.preferences.test_preferences import GHOSTS, NO_GHOSTS, forget, found, remember, search, told
from tests.component.preferences.test_preferences_kept import COPY
from tests.support.cases import cases
from tests.support.pipeline import Kit, Opener
from tests.support.valkey import ask
from tools.store.backends.embedded.customers import EmbeddedCustomers
from tools.store.failures import TimedOut

pytestmark = pytest.mark.virtual_time


async def test_slower_of_two_changes_does_not_restore_a_removed_preference(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process removes it before this process has announced its own change."""
    one, other = await opener(), await opener()
    before = await search(one, "shonen")
    keep = EmbeddedCustomers.keep

    async def and_then_forgotten(store: EmbeddedCustomers, user: str, kept: StoredPreferences, *how: Any) -> bool:
        done = await keep(store, user, kept, *how)
        if kept.preferences:
            assert (await forget(other, "all")).value["removed"] == [NO_GHOSTS]
        return done

    monkeypatch.setattr(EmbeddedCustomers, "keep", and_then_forgotten)
    await remember(one, NO_GHOSTS)
    for kit in (one, other, await opener()):
        after = await search(kit, "shonen")
        assert (found(after), told(after)) == (found(before), told(before))


async def test_concurrent_reader_does_not_restore_a_copy_older_than_a_timed_out_change(
    kit: Kit, redis: MultiplexedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remember(kit, NO_GHOSTS)
    keep, old = EmbeddedCustomers.keep, kit.store.preferences.copy("u", (Preference(NO_GHOSTS, "2026-11-23"),))

    async def and_lost(*change: Any) -> bool:
        await keep(*change)
        raise TimedOut("The preferences did not answer in time.", dependency="profile")

    monkeypatch.setattr(EmbeddedCustomers, "keep", and_lost)
    assert (await forget(kit, "all")).failure == "TIMEOUT"
    await kit.memory.end([old])
    assert NO_GHOSTS.encode() not in await ask(redis, "GET", COPY)
    assert GHOSTS in found(await search(kit, "shonen"))


@cases("budget", [None, "150"])
async def test_change_of_preferences_is_answered_within_any_token_budget(kit: Kit, budget: str | None) -> None:
    """A done change must not be reported as failed; twenty long preferences exceed one answer."""
    said = {"user": "u", "session": "s", **({"turn": "t", "token_budget": budget} if budget else {})}
    for n in range(20):
        await remember(kit, f"{n:02} {'鬱な話は疲れる、' * 24}")
    answer = await kit.ask("forget_preference", {"preference": "all"}, **said)
    assert answer.failure is None
    assert "20 removed." in answer.note
    assert answer.value["truncated"]
