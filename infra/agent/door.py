"""Client of the WebSocket gateway ("door"), through which the agent answers customers' sockets."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from http.client import HTTPException
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, build_opener

from infra.agent.customers import NoRedirects
from infra.agent.lambdas import FunctionFailed, invoke

if TYPE_CHECKING:
    from infra.agent.answering import Done

logger = logging.getLogger(__name__)

GATHER_SECONDS = 0.1
"""Seconds after a message for which words are batched, since each message to a customer is a call."""
SEND_SECONDS = 5
MOST_CHARACTERS = 2500
"""Most characters of one message, which the gateways bound at 32 KB: JSON writes one in up to twelve bytes."""
GONE = 410
Json = dict[str, Any]


class CustomerGone(Exception):
    """The customer's socket is closed, so that no message can reach it any more."""


class Door:
    """Sends messages to customers' sockets through the gateway. `callback` is `http://HOST:PORT` or `lambda:NAME`; `secret`
    authenticates the agent to an HTTP callback."""

    def __init__(self, callback: str, secret: str) -> None:
        self._callback = callback.rstrip("/")
        self._secret = secret

    async def answer(self, connection: str, told: AsyncIterator[str | Done], named: Mapping[str, str]) -> None:
        """Sends a turn's texts in order, the first at once, later ones batched over `GATHER_SECONDS`, then its end. Each
        message includes the fields of `named`, and its number in the answer: one that was retried may arrive twice. Returns
        early if the customer's socket is closed."""
        parts = count(1)
        queue: asyncio.Queue[str | Done | None] = asyncio.Queue()

        async def listen() -> None:
            try:
                async for each in told:
                    queue.put_nowait(each)
            finally:
                queue.put_nowait(None)

        heard: list[str | Done | None] = []
        listening = asyncio.create_task(listen())
        try:
            while None not in heard:
                heard = [await queue.get()]
                while not queue.empty():
                    heard.append(queue.get_nowait())
                words = "".join(each for each in heard if isinstance(each, str))
                for start in range(0, len(words), MOST_CHARACTERS):
                    text = words[start : start + MOST_CHARACTERS]
                    await self.send(connection, {"event": "words", "text": text, "part": next(parts), **named})
                for end in (each for each in heard if not isinstance(each, str | None)):
                    told_end = {"event": "done", "turn": end.turn, "ms": end.ms, "part": next(parts)}
                    await self.send(connection, {**told_end, **named})
                await asyncio.wait([listening], timeout=GATHER_SECONDS)  # the end of a turn waits for nothing
        except CustomerGone:
            logger.info("a customer has gone before the end of a turn")
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def refuse(self, connection: str, name: str, message: str) -> None:
        with suppress(CustomerGone):
            await self.send(connection, {"event": "error", "name": name, "message": message})

    async def send(self, connection: str, message: Json) -> None:
        """Sends a message, with one retry; drops a message that fails twice, with a warning. Raises `CustomerGone` if the
        socket is closed."""
        for _ in range(2):
            status = await asyncio.to_thread(self._sent, connection, message)
            if status == GONE:
                raise CustomerGone
            if status == 200:
                return
        logger.warning("a message to a customer could not be sent (%d)", status)

    def _sent(self, connection: str, message: Json) -> int:
        try:
            if self._callback.startswith("lambda:"):
                return int(invoke(self._callback, {"connection": connection, "message": message})["status"])
            address = f"{self._callback}/@connections/{quote(connection, safe='')}"
            headers = {"X-Door-Secret": self._secret, "Content-Type": "application/json"}
            asked = Request(address, json.dumps(message).encode(), headers, method="POST")
            with build_opener(NoRedirects).open(asked, timeout=SEND_SECONDS) as response:
                return int(response.status)
        except HTTPError as refusal:
            return refusal.code
        except FunctionFailed:
            return 502
        except (OSError, HTTPException, ValueError, KeyError):
            return 502
        except Exception as error:  # botocore's errors have no common base with these
            logger.warning("the door cannot be called: %r", error)
            return 502


def session_of(connection: str) -> str:
    """Returns a session id for a socket whose customer states none: a hash, which has only allowed characters."""
    return f"ws-{hashlib.sha256(connection.encode()).hexdigest()[:32]}"
