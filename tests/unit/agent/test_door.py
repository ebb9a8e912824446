"""Words reach a customer's socket as soon as there are any, and later ones together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from infra.agent.door import GATHER_SECONDS, MOST_CHARACTERS, Door
from infra.door.limits import MOST_BYTES


class Heard(Door):
    """Notes what is sent, and when."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1", "secret")
        self.sent: list[tuple[float, str]] = []
        self.parts: list[int] = []

    async def send(self, connection: str, message: dict[str, Any]) -> None:
        self.parts.append(message["part"])
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
    assert door.parts == [1, 2, 3, 4]
    assert (began, later) == (0, pytest.approx([GATHER_SECONDS, 1 + 0.75 * GATHER_SECONDS, 1 + GATHER_SECONDS]))


async def test_long_words_are_sent_in_messages_that_every_gateway_takes() -> None:
    door = Heard()

    async def told() -> AsyncIterator[str]:
        yield "\N{GRINNING FACE}" * (2 * MOST_CHARACTERS + 1)

    await door.answer("c-1=", told(), {})
    assert [len(words) for _, words in door.sent] == [MOST_CHARACTERS, MOST_CHARACTERS, 1]
    assert door.parts == [1, 2, 3]
    largest = {"event": "words", "text": door.sent[0][1], "part": 10**6, "session": "x" * 128}
    assert len(json.dumps(largest)) <= 2 * MOST_BYTES
