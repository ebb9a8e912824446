"""How many bytes of request bodies are held at once."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response
from starlette.types import Receive

from server.transport.http.bodies import MESSAGES_PER_ROUND, TOTAL_FACTOR, Bodies, replay_body
from server.transport.messages import MOST_VALUES

MOST = 100


def sender(*pieces: bytes, then: asyncio.Event | None = None) -> Receive:
    """Pieces of a body; the end comes when `then` is set, or with the last of them."""
    parts: list[dict[str, Any]] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]

    async def receive() -> Any:
        if parts:
            return parts.pop(0)
        if then is not None:
            await then.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    return receive


def status(read: bytes | Response) -> int:
    assert isinstance(read, Response)
    return read.status_code


async def test_body_beyond_the_byte_limit_gets_413() -> None:
    """It may come in pieces of any size."""
    bodies = Bodies(MOST)
    assert await bodies.read(sender(b"x" * 60, b"x" * 40), "a") == b"x" * MOST
    assert status(await bodies.read(sender(b"x" * 60, b"x" * 41), "a")) == 413


async def test_body_beyond_the_value_limit_gets_413() -> None:
    """It is refused before the application reads it."""
    wide = b"[" + b"[]," * MOST_VALUES + b"[]]"
    refused = await Bodies(2 * len(wide)).read(sender(wide), "a")
    assert status(refused) == 413
    assert isinstance(refused, Response)
    assert b"values" in refused.body


async def test_bodies_in_transit_share_a_byte_limit_and_the_largest_holder_gets_503() -> None:
    """503 for one that holds as much as is left; whoever holds less has room, and there is more of it when some are whole,
    or given up."""
    bodies, end = Bodies(MOST), asyncio.Event()
    half = TOTAL_FACTOR // 2
    slow = [asyncio.create_task(bodies.read(sender(b"x" * MOST, then=end), "a")) for _ in range(half)]
    await asyncio.sleep(0)
    assert status(await bodies.read(sender(b"x"), "a")) == 503
    others = [asyncio.create_task(bodies.read(sender(b"x" * MOST, then=end), "b")) for _ in range(half // 2)]
    await asyncio.sleep(0)
    assert status(await bodies.read(sender(b"x"), "b")) == 503
    assert await bodies.read(sender(b"x" * MOST), "c") == b"x" * MOST
    for task in [*slow[: half // 2], others[0]]:
        task.cancel()
    await asyncio.gather(*slow[: half // 2], others[0], return_exceptions=True)
    assert await bodies.read(sender(b"x" * MOST), "a") == b"x" * MOST
    assert await bodies.read(sender(b"x" * MOST), "b") == b"x" * MOST
    end.set()
    read = await asyncio.gather(*slow[half // 2 :], *others[1:])
    assert set(read) == {b"x" * MOST}
    assert not bodies._held


async def test_replayed_body_is_followed_by_the_messages_of_the_client() -> None:
    """A disconnect is such a message."""

    async def gone() -> Any:
        return {"type": "http.disconnect"}

    receive = replay_body(b"whole", gone)
    assert await receive() == {"type": "http.request", "body": b"whole", "more_body": False}
    assert await receive() == {"type": "http.disconnect"}
    assert status(await Bodies(MOST).read(gone, "a")) == 400


async def test_complete_bodies_are_released_in_rounds_across_holders() -> None:
    """A hundred bodies that are complete at once would stall everybody else."""
    bodies, end, order = Bodies(MOST), asyncio.Event(), list[str]()

    async def one(holder: str) -> None:
        await bodies.read(sender(b"{}", then=end), holder)
        order.append(holder)

    tasks = [asyncio.create_task(one(holder)) for holder in [*["greedy"] * (20 * MESSAGES_PER_ROUND), "modest"]]
    await asyncio.sleep(0)
    end.set()
    await asyncio.gather(*tasks)
    assert order.index("modest") <= MESSAGES_PER_ROUND
