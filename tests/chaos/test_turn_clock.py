"""A real server whose turns count the time inside calls alone, beside one that counts all of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.process import serving
from tests.support.sse import SseClient

pytestmark = pytest.mark.alone
BUDGET_MS = 900
THINKING_SECONDS = 1.0
"""What a model takes between two calls: it is the subject here, and more than the whole budget."""
ABOUT = {"com.mangaassist/sessionId": "slow-model", "com.mangaassist/turnId": "one-turn"}


@pytest.mark.parametrize("clock", ["tools", "wall"])
async def test_a_model_that_thinks_longer_than_its_budget(clock: str) -> None:
    async with serving(turn_budget_ms=BUDGET_MS, turn_clock=clock) as server, SseClient.to(server.port) as client:

        async def calls(meta: dict[str, Any]) -> dict[str, Any]:
            return await client.call("check_inventory", {"title_ids": ["manga-000002"]}, meta)

        first = await calls(ABOUT)
        await asyncio.sleep(THINKING_SECONDS)
        second = await calls(ABOUT)
        left = [each["_meta"]["com.mangaassist/call"]["budget"]["remainingMs"] for each in (first, second)]
        if clock == "tools":
            assert 300 < left[1] <= left[0], left
            assert "MANGA_TURN_CLOCK" not in server.log
        else:
            assert left[1] == 0
            assert "1 calls began when their turn was over by the time between calls" in server.log
