"""A change of preferences that is repeated under its idempotency key is done once."""

from __future__ import annotations

import asyncio

import pytest

from session.redis.multiplexed import MultiplexedRedis
from tests.component.preferences.test_preferences import NO_GHOSTS, kept, remember
from tests.component.preferences.test_preferences_kept import everything
from tests.support.pipeline import Answer, Kit

pytestmark = pytest.mark.virtual_time


async def forget(kit: Kit, text: str, key: str = "k") -> Answer:
    return await kit.ask("forget_preference", {"preference": text}, user="u", idempotency_key=key)


async def test_replayed_forget_is_answered_as_forgotten_without_the_words(kit: Kit, redis: MultiplexedRedis) -> None:
    await remember(kit, NO_GHOSTS)
    first, again = await forget(kit, "all"), await forget(kit, "all")
    assert first.value["removed"] == [NO_GHOSTS]
    assert again.value["note"].startswith(first.value["note"]), "the customer is not told that there was nothing"
    assert again.value["truncated"]
    assert NO_GHOSTS not in await everything(redis)


async def test_replayed_forget_removes_nothing_stated_in_between(kit: Kit) -> None:
    await remember(kit, NO_GHOSTS)
    await forget(kit, "all")
    await remember(kit, "no gore")
    await forget(kit, "all")
    assert kept(await remember(kit, "no gore")) == ["no gore"]
    assert (await forget(kit, "all", key="another")).value["removed"] == ["no gore"]


async def test_concurrent_replay_shares_the_answer(kit: Kit) -> None:
    await remember(kit, NO_GHOSTS)
    first, again = await asyncio.gather(forget(kit, "ghosts"), forget(kit, "ghosts"))
    assert first.value == again.value
    assert first.value["removed"] == [NO_GHOSTS]


async def test_replayed_preference_is_kept_once(kit: Kit) -> None:
    asked = {"preference": NO_GHOSTS}
    first, again = [await kit.ask("remember_preference", asked, user="u", idempotency_key="k") for _ in range(2)]
    assert first.value == again.value
