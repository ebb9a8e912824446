"""Words reach a customer's socket as soon as there are any, and later ones together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from infra.agent.door import GATHER_SECONDS, Door


class Heard(Door):
    """Notes what is sent, and when."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1", "secret")
        self.sent: list[tuple[float, str]] = []

    async def send(self, connection: str, message: dict[str, Any]) -> None:
        self.sent.append((asyncio.get_running_loop().time(), message["text"]))


@pytest.mark.virtual_time
async def test_the_first_words_wait_for_nothing_and_later_ones_are_gathered_until_the_end() -> None:
    door = Heard()

    async def told() -> AsyncIterator[str]:
        for words in ("a", "b", "c"):
            yield words
            await asyncio.sleep(GATHER_SECONDS / 4)
        await asyncio.sleep(1)
        yield "d"
        await asyncio.sleep(GATHER_SECONDS / 4)
        yield "e"

    await door.answer("c-1=", told(), {})
    assert [words for _, words in door.sent] == ["a", "bc", "d", "e"]
    began, *later = [when for when, _ in door.sent]
    assert (began, later) == (0, pytest.approx([GATHER_SECONDS, 1 + 0.75 * GATHER_SECONDS, 1 + GATHER_SECONDS]))
