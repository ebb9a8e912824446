"""Customers' tokens are verified with the issuer's keys, which are fetched on a thread."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from infra.agent.customers import Customers, InvalidToken


async def test_known_key_is_used_while_an_unknown_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = None  # only the fetch reads them
    customers = Customers(settings)
    began, answered = threading.Event(), threading.Event()

    def fetch() -> dict[str, Any]:
        began.set()
        answered.wait(30)
        raise OSError("the issuer is away")

    monkeypatch.setattr(customers, "_fetch", fetch)
    monkeypatch.setattr(customers, "_keys", {"known": "key"})
    monkeypatch.setattr(customers, "_fetched", asyncio.get_running_loop().time())
    stranger = asyncio.create_task(customers._key("unknown"))
    try:
        assert await asyncio.to_thread(began.wait, 30)
        async with asyncio.timeout(10):
            assert await customers._key("known") == "key"
        assert not stranger.done()
    finally:
        answered.set()
    with pytest.raises(InvalidToken):
        await stranger
