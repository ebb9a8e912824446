"""Servers where OpenSearch should be: one that answers as a test tells it to, and one before a real node that refuses what
Serverless refuses and checks signatures as it does."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import aiohttp
from aiohttp import web
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
REGION = "ap-northeast-1"
NOT_THERE = ("_refresh", "_forcemerge", "_tasks", "_settings", "_cluster", "_nodes")
"""APIs that Serverless has not."""


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """The URL of a server whose every answer is the handler's."""
    application = web.Application(client_max_size=64 * 2**20)
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def answers(*found: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """A multi-search's answer with one good one in it, changed."""
    good = {
        "took": 1,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": 0, "relation": "eq"}, "hits": list(found)},
        "status": 200,
    }
    return {"took": 1, "responses": [{**good, **changed}]}


def packed(record: object) -> str:
    """A column as the index keeps it."""
    return b64encode(zlib.compress(json.dumps(record).encode())).decode().rstrip("=")


@dataclass
class Serverless:
    """The front of a collection, with a node behind it. `refused` are the requests that Serverless would not have taken."""

    node: str
    key: str = "AKIDEXAMPLE"
    secret: str = "secret"
    refused: list[str] = field(default_factory=list)
    signed: int = 0

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        async with aiohttp.ClientSession() as self._client, serving(self._answer) as url:
            yield url

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        problem = self._problem(request, body)
        if problem:
            self.refused.append(f"{request.method} {request.path}: {problem}")
            return web.json_response({"error": {"type": "refused", "reason": problem}, "status": 403}, status=403)
        self.signed += 1
        # The node behind has no Faiss.
        sent = body.replace(b'"engine":"faiss"', b'"engine":"lucene"') if request.method == "PUT" else body
        headers = {"content-type": request.headers.get("content-type", "application/json")}
        async with self._client.request(request.method, self.node + request.path_qs, data=sent, headers=headers) as answer:
            return web.Response(body=await answer.read(), status=answer.status, content_type="application/json")

    def _problem(self, request: web.Request, body: bytes) -> str | None:
        if request.path == "/" or any(f"/{name}" in request.path for name in NOT_THERE):
            return "there is no such API"
        if request.path.endswith("/_bulk") and any(
            "_id" in json.loads(line).get("index", {}) for line in body.split(b"\n")[:-1:2]
        ):
            return "document ids are not yours to give"
        if request.headers.get("x-amz-content-sha256") != sha256(body).hexdigest():
            return "the body's hash is not in x-amz-content-sha256"
        return None if self._is_signed(request, body) else "the signature is wrong"

    def _is_signed(self, request: web.Request, body: bytes) -> bool:
        """Signs the same request once more, at the time it says, and compares."""
        told = request.headers.get("authorization", "")
        again = AWSRequest(request.method, str(request.url), data=body)
        again.context["timestamp"] = request.headers.get("x-amz-date", "")
        for name in told.partition("SignedHeaders=")[2].partition(",")[0].split(";"):
            again.headers[name] = request.headers.get(name, "")
        signer = SigV4Auth(Credentials(self.key, self.secret), "aoss", REGION)
        text = signer.string_to_sign(again, signer.canonical_request(again))
        return told.endswith(f"Signature={signer.signature(text, again)}") and f"/{REGION}/aoss/aws4_request" in told
