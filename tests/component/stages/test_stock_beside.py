"""The stock of a title named in the arguments is read while the tool runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.calls import TITLE
from tests.support.pipeline import Kit

pytestmark = pytest.mark.virtual_time


class Gate:
    """A port whose reads wait for `opens`, and tell when they begin."""

    def __init__(self, inner: Any, opens: asyncio.Event) -> None:
        self._inner, self._opens = inner, opens
        self.begun, self.cancelled = asyncio.Event(), False

    def __getattr__(self, method: str) -> Any:
        async def asked(*arguments: Any) -> Any:
            self.begun.set()
            try:
                await self._opens.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
            return await getattr(self._inner, method)(*arguments)

        return asked


async def test_title_and_stock_are_read_concurrently(kit: Kit) -> None:
    opened = asyncio.Event()
    opened.set()
    stock = Gate(kit.backends.stock.inner, opened)
    kit.backends.stock.inner = stock
    kit.backends.catalog.inner = Gate(kit.backends.catalog.inner, stock.begun)
    answer = await kit.ask("get_manga_details", TITLE)
    assert (answer.failure, answer.meta["source"], answer.meta["degraded"]) == (None, "live", [])
    assert answer.value["price_jpy"]


async def test_stock_read_is_cancelled_when_the_title_does_not_exist(kit: Kit) -> None:
    stock = kit.backends.stock.inner = Gate(kit.backends.stock.inner, asyncio.Event())
    answer = await kit.ask("get_manga_details", {"title_id": "manga-999999"})
    assert answer.failure == "NOT_FOUND"
    assert stock.begun.is_set()
    assert stock.cancelled
