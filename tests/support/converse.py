"""A server in the place of Bedrock's ConverseStream: AWS event-stream frames over HTTP, as slow and as bad as a test wants it.

What the model says is a test's own matter (`Brain`); without one it goes by the words of the question. Every body that was
posted is kept, which is what a message costs.
"""

from __future__ import annotations

import asyncio
import binascii
import json
import struct
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from aiohttp import web

from infra.agent.choosing import next_step
from tests.support.bedrock import on_loopback
from tests.support.loop_thread import Held, LoopThread

Json = dict[str, Any]
Mood = Literal["well", "throttles", "hangs", "breaks off", "malformed", "refuses"]
REGION = "eu-west-1"


@dataclass(frozen=True, slots=True)
class Step:
    """What the model does next: says words, and asks for tools, together."""

    text: str = ""
    uses: Sequence[tuple[str, Json]] = ()


Brain = Callable[[Json], Step]
"""From the body of a request."""


def by_words(body: Json) -> Step:
    step = next_step(body["messages"])
    return Step(step) if isinstance(step, str) else Step(uses=[step])


def frame(kind: str, payload: Json, *, exception: bool = False) -> bytes:
    """One message of the protocol application/vnd.amazon.eventstream."""
    named = ":exception-type" if exception else ":event-type"
    headers = b""
    pairs = ((named, kind), (":content-type", "application/json"), (":message-type", "exception" if exception else "event"))
    for name, value in pairs:
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    prelude += struct.pack(">I", binascii.crc32(prelude))
    return prelude + headers + body + struct.pack(">I", binascii.crc32(prelude + headers + body))


@dataclass
class Converse:
    """`thinks` says how many seconds go by before a step's first token, `pace` how many between two words of it. Of the
    `moods` each request takes one; when there are none left, all is well. `streaming` counts the answers that are being read."""

    brain: Brain = by_words
    thinks: Callable[[], float] = lambda: 0.0
    pace: float = 0.0
    moods: list[Mood] = field(default_factory=list)
    url: str = ""
    asked: list[Json] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    streaming: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """Of a process that is to ask here, and has no account at AWS."""
        return {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.url,
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": REGION,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body)
        self.models.append(unquote(request.match_info["model"]))
        mood = self.moods.pop(0) if self.moods else "well"
        if mood in ("throttles", "refuses"):
            kind, status = ("ThrottlingException", 429) if mood == "throttles" else ("AccessDeniedException", 403)
            return web.json_response({"message": "no"}, status=status, headers={"x-amzn-ErrorType": kind})
        await asyncio.sleep(self.thinks())
        if mood == "hangs":
            await asyncio.Event().wait()
        response = web.StreamResponse(headers={"Content-Type": "application/vnd.amazon.eventstream"})
        await response.prepare(request)
        sent = 0
        self.streaming += 1
        try:
            async for each in self._frames(self.brain(body), mood, body):
                await response.write(each)
                sent += 1
                if mood == "breaks off" and sent == 4:
                    assert request.transport is not None
                    request.transport.abort()
                    break
        finally:
            self.streaming -= 1
        return response

    async def _frames(self, step: Step, mood: Mood, body: Json) -> AsyncIterator[bytes]:
        yield frame("messageStart", {"role": "assistant"})
        index = 0
        if step.text:
            for number, word in enumerate(step.text.split(" ")):
                delta = {"text": f" {word}" if number else word}
                yield frame("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
                await asyncio.sleep(self.pace)
            yield frame("contentBlockStop", {"contentBlockIndex": index})
            index += 1
        for name, arguments in step.uses:
            use = {"toolUseId": f"tooluse_{len(self.asked)}_{index}", "name": name}
            yield frame("contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": use}})
            given = json.dumps(arguments)
            for part in (given[: len(given) // 2], given[len(given) // 2 :] if mood != "malformed" else ""):
                yield frame("contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": {"input": part}}})
                await asyncio.sleep(self.pace)
            yield frame("contentBlockStop", {"contentBlockIndex": index})
            index += 1
        yield frame("messageStop", {"stopReason": "tool_use" if step.uses else "end_turn"})
        spent = {"inputTokens": len(json.dumps(body)) // 4, "outputTokens": 20, "totalTokens": 0}
        yield frame("metadata", {"usage": spent, "metrics": {"latencyMs": 1}})


@asynccontextmanager
async def _serving(converse: Converse) -> AsyncIterator[Converse]:
    application = web.Application(client_max_size=8 * 2**20)
    application.router.add_post("/model/{model}/converse-stream", converse.answer)
    async with on_loopback(application) as converse.url:
        yield converse


@contextmanager
def conversing(converse: Converse | None = None) -> Iterator[Converse]:
    """The server on a thread of its own, for a process that asks it."""
    thread = LoopThread()
    try:
        held = Held(thread, lambda: _serving(converse or Converse()))
        try:
            yield held.value
        finally:
            held.close()
    finally:
        thread.close()
