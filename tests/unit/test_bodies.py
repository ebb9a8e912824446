"""How much of requests' bodies is held at once."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response
from starlette.types import Receive

from server.http.bodies import TOGETHER, Bodies, read_again

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


async def test_a_body_may_have_so_many_bytes_and_not_one_more() -> None:
    """In whatever pieces it comes."""
    bodies = Bodies(MOST)
    assert await bodies.read(sender(b"x" * 60, b"x" * 40)) == b"x" * MOST
    assert status(await bodies.read(sender(b"x" * 60, b"x" * 41))) == 413


async def test_bodies_that_are_on_their_way_are_counted_together() -> None:
    """503 for what is too much at once; there is room again when some are whole, or given up."""
    bodies, end = Bodies(MOST), asyncio.Event()
    slow = [asyncio.create_task(bodies.read(sender(b"x" * MOST, then=end))) for _ in range(TOGETHER)]
    await asyncio.sleep(0)
    assert status(await bodies.read(sender(b"x"))) == 503
    slow[0].cancel()
    await asyncio.gather(slow[0], return_exceptions=True)
    assert await bodies.read(sender(b"x" * MOST)) == b"x" * MOST
    end.set()
    assert set(await asyncio.gather(*slow[1:])) == {b"x" * MOST}
    assert bodies._being_read == 0


async def test_what_was_read_can_be_read_again_and_what_follows_comes_from_the_client() -> None:
    """Such as that it went away."""

    async def gone() -> Any:
        return {"type": "http.disconnect"}

    receive = read_again(b"whole", gone)
    assert await receive() == {"type": "http.request", "body": b"whole", "more_body": False}
    assert await receive() == {"type": "http.disconnect"}
    assert status(await Bodies(MOST).read(gone)) == 400
