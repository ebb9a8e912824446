"""A bucket in S3's place: ListObjectsV2, GetObject with If-None-Match and Range, and PutObject over HTTP, as good or as bad as a
test wants it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from aiohttp import web

BUCKET, REGION = "manga-pages", "ap-northeast-1"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
"""None leaves the answer to the bucket."""


@dataclass
class Bucket:
    """`listed_as` says another size of an object than it has, `asked` is what came in, `hung_up` how many callers left before
    their answer."""

    objects: dict[str, bytes] = field(default_factory=dict)
    listed_as: dict[str, int] = field(default_factory=dict)
    answer: Answer | None = None
    asked: list[str] = field(default_factory=list)
    signed: list[str] = field(default_factory=list)
    hung_up: int = 0
    port: int = 0

    def url(self, prefix: str = "previews") -> str:
        return f"s3://{BUCKET}/{prefix}?region={REGION}&endpoint=http://127.0.0.1:{self.port}"

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        self.signed.append(request.headers.get("Authorization", ""))
        try:
            other = await self.answer(request) if self.answer is not None else None
        except asyncio.CancelledError:
            self.hung_up += 1
            raise
        return other or await self._right(request)

    async def _right(self, request: web.Request) -> web.StreamResponse:
        bucket, _, key = request.path.removeprefix("/").partition("/")
        if bucket != BUCKET:
            return refusal("NoSuchBucket", 404)
        if not key:
            return self._listed(request.query.get("prefix", ""), int(request.query.get("max-keys", 1000)))
        if request.method == "PUT":
            self.objects[key] = await request.read()
        if (data := self.objects.get(key)) is None:
            return refusal("NoSuchKey", 404)
        headers = {"ETag": f'"{hash(data)}"', "Content-Type": "binary/octet-stream"}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304)
        return web.Response(body=b"" if request.method == "PUT" else data[request.http_range], headers=headers)

    def _listed(self, prefix: str, most: int) -> web.Response:
        keys = sorted(key for key in self.objects if key.startswith(prefix))[:most]
        rows = [
            f"<Contents><Key>{escape(key)}</Key><Size>{self.listed_as.get(key, len(self.objects[key]))}</Size></Contents>"
            for key in keys
        ]
        body = f"<ListBucketResult><Name>{BUCKET}</Name><KeyCount>{len(keys)}</KeyCount>{''.join(rows)}</ListBucketResult>"
        return web.Response(text=body, content_type="application/xml")


def refusal(code: str, status: int) -> web.Response:
    return web.Response(text=f"<Error><Code>{code}</Code><Message>hunter2</Message></Error>", status=status)


def refuses(code: str, status: int = 403) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return refusal(code, status)

    return answer


async def hangs(_: web.Request) -> None:
    await asyncio.Event().wait()


async def talks_nonsense(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>Welcome to nginx!</html>")


async def breaks_off(request: web.Request) -> web.StreamResponse | None:
    """In the middle of a page."""
    if "list-type" in request.query:
        return None
    response = web.StreamResponse(headers={"Content-Length": "100000"})
    await response.prepare(request)
    await response.write(b"RIFF")
    assert request.transport is not None
    request.transport.abort()
    return response


@asynccontextmanager
async def serving(bucket: Bucket) -> AsyncIterator[Bucket]:
    app = web.Application(client_max_size=2**20)
    app.router.add_route("*", "/{rest:.*}", bucket.serve)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    bucket.port = runner.addresses[0][1]
    try:
        yield bucket
    finally:
        await runner.cleanup()
