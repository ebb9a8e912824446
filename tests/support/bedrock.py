"""A server in Bedrock's place: Titan's InvokeModel and Claude's Converse over HTTP, as good or as bad as a test wants it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from aiohttp import web

from tools.store.backends.bedrock import BedrockClassifier, BedrockEmbedder

MODEL = "amazon.titan-embed-text-v2:0"
CLAUDE = "anthropic.claude-haiku-4-5-20251001-v1:0"
REGION = "eu-west-1"
SECRET = "hunter2-of-the-role"
DIMENSIONS = 512
Answer = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


@dataclass
class Bedrock:
    """What was asked, how many were being answered at once at most, and how many callers hung up before their answer."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    signed: list[str] = field(default_factory=list)
    under_way: int = 0
    most_at_once: int = 0
    hung_up: int = 0
    held: asyncio.Event | None = None
    answer: Answer | None = None

    @property
    def texts(self) -> list[str]:
        return [each["inputText"] for each in self.asked]

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Questions that come in the block are answered when it ends."""
        self.held = asyncio.Event()
        try:
            yield
        finally:
            self.held.set()
            self.held = None

    async def invoke(self, request: web.Request) -> web.StreamResponse:
        return await self._answered(request, embedded)

    async def converse(self, request: web.Request) -> web.StreamResponse:
        return await self._answered(request, labelled(LABELS))

    async def _answered(self, request: web.Request, right: Answer) -> web.StreamResponse:
        body = await request.json()
        self.asked.append({"model": unquote(request.match_info["model"]), **body})
        self.signed.append(request.headers.get("Authorization", ""))
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            if (held := self.held) is not None:
                await held.wait()
            return await (self.answer or right)(request, body)
        except asyncio.CancelledError:
            self.hung_up += 1
            raise
        finally:
            self.under_way -= 1


def vector_of(text: str, dimensions: int = DIMENSIONS, length: float = 3.0) -> list[float]:
    """The same for the same text, and of another length than 1."""
    # Each pair of characters is a direction, so that texts that share some are near each other.
    total = np.full(dimensions, 1e-3)
    for pair in map("".join, zip(text, text[1:] + " ", strict=False)):
        seed = int.from_bytes(hashlib.sha256(pair.encode("utf-8", "surrogatepass")).digest()[:8])
        total += np.random.default_rng(seed).standard_normal(dimensions)
    return (length * total / np.linalg.norm(total)).tolist()  # type: ignore[no-any-return]


def says(body: bytes | str | dict[str, Any] | list[Any], status: int = 200, kind: str = "") -> Answer:
    """The same words to every question. `kind` is AWS's name for a refusal."""
    raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | ({"x-amzn-ErrorType": kind} if kind else {})

    async def answer(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=raw, status=status, headers=headers)

    return answer


async def embedded(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """As Titan answers."""
    if not body["inputText"]:
        return await says({"message": "expected minLength: 1"}, 400, "ValidationException")(request, body)
    return web.json_response({"embedding": vector_of(body["inputText"]), "inputTextTokenCount": 3})


LABELS = {
    "readerships": [{"label": "seinen", "probability": 0.7}, {"label": "josei", "probability": 0.3}],
    "tags": [{"label": "Romance", "probability": 0.4}, {"label": "Drama", "probability": 0.9}],
}


def labelled(labels: Any) -> Answer:
    """As a model answers Converse that has called its tool with these."""
    used = {"toolUse": {"toolUseId": "tooluse_1", "name": "classify", "input": labels}}
    return says({"output": {"message": {"role": "assistant", "content": [used]}}, "stopReason": "tool_use"})


def after(seconds: float) -> Answer:
    """The right answer, that much later, as a model far away gives it."""

    async def answer(_: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response({"embedding": vector_of(body["inputText"]), "inputTextTokenCount": 3})

    return answer


async def breaks_off(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
    """Promises more than it sends, and hangs up."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"embedding": [0.1, ')
    assert request.transport is not None
    request.transport.abort()
    return response


async def hangs_up(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
    """Says nothing at all."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@asynccontextmanager
async def on_loopback(application: web.Application) -> AsyncIterator[str]:
    """Serves it on a free port of this machine. Yields the URL."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def serving() -> AsyncIterator[Bedrock]:
    bedrock = Bedrock()
    application = web.Application()
    application.router.add_post("/model/{model}/invoke", bedrock.invoke)
    application.router.add_post("/model/{model}/converse", bedrock.converse)
    async with on_loopback(application) as bedrock.url:
        yield bedrock


def lead_there(monkeypatch: pytest.MonkeyPatch, bedrock: Bedrock) -> None:
    """The environment of a process that uses this server, and no AWS account."""
    for name in (
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", bedrock.url)


@pytest.fixture
async def bedrock(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bedrock]:
    async with serving() as server:
        lead_there(monkeypatch, server)
        yield server


@pytest.fixture
async def bedrock_embedder(bedrock: Bedrock) -> AsyncIterator[BedrockEmbedder]:
    async with BedrockEmbedder.open(MODEL) as embedder:
        yield embedder


@pytest.fixture
async def bedrock_classifier(bedrock: Bedrock) -> AsyncIterator[BedrockClassifier]:
    async with BedrockClassifier.open(CLAUDE) as classifier:
        yield classifier
