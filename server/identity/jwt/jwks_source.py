"""Where an issuer's keys are read: an address, or a file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx2

from server.config.addresses import is_loopback
from server.identity.jwt.jwks import JwksError, KeySet, parse_jwks

STEP_SECONDS = 2.0
ALL_SECONDS = 3.0
MOST_BYTES = 256 * 1024
Read = Callable[[], Awaitable[KeySet]]


@asynccontextmanager
async def jwks_source(url: str) -> AsyncIterator[Read]:
    """Opens it. Each reading raises `JwksError`. No redirects are followed: the address is the one that was set."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        yield lambda: _from_file(Path(unquote(parts.path)))
        return
    # A proxy of the environment is for what is outside.
    outside = not is_loopback(parts.hostname or "")
    async with httpx2.AsyncClient(timeout=STEP_SECONDS, follow_redirects=False, trust_env=outside) as client:
        yield lambda: _from_address(client, url)


async def _from_file(path: Path) -> KeySet:
    try:
        text = await asyncio.to_thread(path.read_bytes)
    except OSError:
        raise JwksError("the file cannot be read") from None
    return parse_jwks(text)


async def _from_address(client: httpx2.AsyncClient, url: str) -> KeySet:
    try:
        async with asyncio.timeout(ALL_SECONDS):
            return await _fetched(client, url)
    except (TimeoutError, httpx2.TimeoutException):
        raise JwksError("it does not answer in time") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
        raise JwksError(f"it cannot be reached ({type(error).__name__})") from None


async def _fetched(client: httpx2.AsyncClient, url: str) -> KeySet:
    # As it is: what is compressed can be far larger than what was counted.
    headers = {"Accept": "application/jwk-set+json, application/json", "Accept-Encoding": "identity"}
    async with client.stream("GET", url, headers=headers) as answer:
        if answer.status_code != 200:
            raise JwksError(f"it answers with status {answer.status_code}")
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise JwksError("it answers compressed, which was not asked for")
        body = b""
        async for piece in answer.aiter_raw():
            body += piece
            if len(body) > MOST_BYTES:
                raise JwksError(f"it answers with more than {MOST_BYTES} bytes")
        return replace(parse_jwks(body), ahead_seconds=_ahead(answer.headers.get("date")))


def _ahead(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time() if date else None
    except ValueError:
        return None
