"""The customers' agents, in a process of their own: `python -m tests.chaos.clients URL SESSIONS`, by a Python that has Strands.

Real clients: the official one over SSE in both eras and over Streamable HTTP, and Strands. Commands come as lines on stdin:
`go PAUSE` begins turns, one a session each PAUSE seconds; `stop` ends them, and says so when the last is over; `cancel N TOOL`
begins N calls and gives each up by cancelling it or by hanging up. Samples leave as lines of JSON on stdout.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import time
from contextlib import AsyncExitStack
from typing import Any

from tests.chaos.connections import GIVE_UP_SECONDS, KINDS, Client, connected
from tests.chaos.conversation import Ask, Customer, Json, Turn, untruths
from tests.chaos.heartbeat import beat

CALL_META = "com.mangaassist/call"
CANCEL_AFTER_SECONDS = 0.04


class Agents:
    def __init__(self, url: str) -> None:
        self._url = url
        self._going = asyncio.Event()
        self._pause = 1.0
        self._busy = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def serve(self, sessions: int) -> None:
        async with AsyncExitStack() as stack:
            clients = []
            for number in range(sessions):
                client = await stack.enter_async_context(connected(KINDS[number % len(KINDS)], self._url))
                clients.append((Customer.numbered(number), client))
            talking = [asyncio.create_task(self._talk(*each, place / sessions)) for place, each in enumerate(clients)]
            tell("ready")
            await self._obey()
            for task in talking:
                task.cancel()
            await asyncio.gather(*talking, return_exceptions=True)

    async def _obey(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := (await reader.readline()).decode().split():
            match line:
                case ["go", pause]:
                    self._pause = float(pause)
                    self._going.set()
                case ["stop"]:
                    self._going.clear()
                    await self._idle.wait()
                    tell("stopped")
                case ["cancel", count, tool]:
                    await give_up(self._url, int(count), tool)
                    tell("cancelled")
                case _:
                    return

    async def _talk(self, customer: Customer, client: Client, phase: float) -> None:
        while True:
            if not self._going.is_set():
                await self._going.wait()
                await asyncio.sleep(phase * self._pause)  # customers come one after the other, not all at once
            began = time.monotonic()
            self._busy += 1
            self._idle.clear()
            try:
                await take_turn(customer, client)
            finally:
                self._busy -= 1
                if not self._busy:
                    self._idle.set()
            await asyncio.sleep(max(0.0, began + self._pause - time.monotonic()))  # the pace of a customer's turns


async def take_turn(customer: Customer, client: Client) -> None:
    turn = customer.turn()
    asks = turn.asks()
    ask, began = next(asks), time.monotonic()
    while True:
        value = await ask_one(client, turn, ask, began)
        try:
            ask = asks.send(value)  # type: ignore[attr-defined]
        except StopIteration:
            return
        await asyncio.sleep(ask.pause)  # what the model thinks between two calls: the turn's time goes on


async def ask_one(client: Client, turn: Turn, ask: Ask, began: float) -> Json:
    sent = time.monotonic()
    answer: Json = {}
    sample: Json = {}
    try:
        async with asyncio.timeout(GIVE_UP_SECONDS):
            failed, value, texts, meta = await client.call(ask.tool, ask.arguments, ask.meta)
        answer = value if not failed and isinstance(value, dict) else {}
        sample = judged(ask, failed, value, texts, meta)
    except Exception as error:  # whatever a client makes of an answer that is no result
        sample = {"unstructured": f"{type(error).__name__}: {str(error)[:200]}"}
    done = time.monotonic()
    tell("sample", tool=ask.tool, new=ask.new, began=began, sent=sent, done=done, total=turn.total_ms / 1000, **sample)
    return answer


def judged(ask: Ask, failed: bool, value: Any, texts: list[str], meta: Json) -> Json:
    told = meta.get(CALL_META)
    if not isinstance(value, dict) or not isinstance(told, dict):
        return {"unstructured": f"no structured content or no _meta: {texts!r:.200}"}
    common = {"call": told.get("callId"), "degraded": told.get("degraded", [])}
    if not failed:
        wrong = untruths(ask.tool, value, told, texts)
        return {**common, "source": told.get("source"), "fallback": told.get("fallback"), "untruths": wrong}
    error = value.get("error")
    if not isinstance(error, dict) or not {"code", "name", "message", "data"} <= set(error):
        return {**common, "unstructured": f"an error without its envelope: {texts!r:.200}"}
    return {**common, "error": error["name"]}


async def give_up(url: str, count: int, tool: str) -> None:
    """By turns: a client that cancels its calls and stays, and one that hangs up on them."""
    each = 40  # the burst that one session is allowed
    for start in range(0, count, each):
        calls: list[asyncio.Task[Any]] = []
        # What a client makes of its own hanging up is its own affair.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(GIVE_UP_SECONDS), connected("sse-legacy", url) as client:
                numbers = range(start, min(count, start + each))
                calls += [asyncio.create_task(client.call(tool, _to_give_up(tool, n), {})) for n in numbers]
                await asyncio.sleep(CANCEL_AFTER_SECONDS)  # the calls have to be under way when they are given up
                if start // each % 2:
                    for call in calls:
                        call.cancel()
                    await asyncio.gather(*calls, return_exceptions=True)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


def _to_give_up(tool: str, number: int) -> Json:
    match tool:
        case "search_manga_catalog":
            return {"query": f"given up, chapter {time.monotonic_ns()} {number}"}
        case "check_inventory":
            return {"title_ids": [f"manga-{number:06}"]}
        case _:
            return {"order_id": "MNG-DEMO1001"}


def tell(kind: str, **fields: object) -> None:
    os.write(1, json.dumps({"kind": kind, **fields}).encode() + b"\n")


def held(slot: int, seconds: float) -> None:
    tell("held", slot=slot, seconds=seconds)


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    beat(held)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Agents(sys.argv[1]).serve(int(sys.argv[2])))
