"""Documents that this server reads again and again: an HTTP(S) resource, such as that of the AppConfig agent, or a file.

The agent's URL is http://localhost:2772/applications/APPLICATION/environments/ENVIRONMENT/configurations/PROFILE"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import stat
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx2

from server.config.parsing import SettingError, file_of, is_loopback
from session.resilience.tasks import Threads

T = TypeVar("T")
logger = logging.getLogger(__name__)
FILE_SECONDS = 2.0
"""Timeout of a read of a file. While a disk hangs, one thread waits for it, and every later read times out."""
MOST_BYTES = 256 * 1024
"""Most bytes of a document. A source may cut off a longer document, but still returns more bytes than this."""


LATE = "it does not answer in time"


class Unreadable(Exception):
    """The document cannot be read now. The message is for operators and contains no secret."""


class Source(Protocol):
    async def read(self) -> bytes:
        """Returns the document, or of one longer than `MOST_BYTES` at least a byte more than that. Raises `Unreadable`."""


def open_regular(path: Path) -> BinaryIO:
    """Opens a file for reading. Raises OSError, also for a folder or a pipe."""
    # Non-blocking: opening a pipe without a writer would block this thread, and with it the process's exit.
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)  # os.fdopen would fail for a folder without closing it
        raise OSError(errno.EINVAL, "it is no file")
    return os.fdopen(opened, "rb")


class FileSource:
    """Reads the file anew each time, since modification times are too coarse to show every change."""

    date: str | None = None

    def __init__(self, path: Path) -> None:
        self._path, self._threads = path, Threads("file of a source", 1)

    async def read(self) -> bytes:
        try:
            return await self._threads.run(self._content, FILE_SECONDS)
        except OSError as error:
            raise Unreadable(f"{self._path} cannot be read: {error.strerror or LATE}") from error

    def _content(self) -> bytes:
        with open_regular(self._path) as file:
            return file.read(MOST_BYTES + 1)


class HttpSource:
    """Sends conditional requests (If-None-Match, RFC 9110) and does not follow redirects. `step_seconds` limits each network
    operation, `all_seconds` a whole read. `date` is the last answer's Date header, or None."""

    def __init__(
        self, url: str, accept: str = "application/json", step_seconds: float = 1.0, all_seconds: float = 2.0
    ) -> None:
        # Ignores the environment's proxy for loopback addresses.
        outside = not is_loopback(urlsplit(url).hostname or "")
        # Uncompressed: decompressed, a body could be far larger than the bytes that are counted.
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        self._client = httpx2.AsyncClient(timeout=step_seconds, headers=headers, trust_env=outside)
        self._url, self._seconds = url, all_seconds
        self._etag: str | None = None
        self._body = b""
        self.date: str | None = None
        self.aclose = self._client.aclose

    async def read(self) -> bytes:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._fetch()
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise Unreadable(LATE) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
            raise Unreadable(f"it cannot be reached ({type(error).__name__})") from error

    async def _fetch(self) -> bytes:
        known = {"If-None-Match": self._etag} if self._etag is not None else {}
        async with self._client.stream("GET", self._url, headers=known) as answer:
            self.date = answer.headers.get("date")
            if answer.status_code == 304 and known:
                return self._body
            if answer.status_code != 200:
                raise Unreadable(f"it answers with status {answer.status_code}")
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise Unreadable("it answers compressed, which was not asked for")
            body = b""
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MOST_BYTES:
                    break
            # Not before: after a partial body a 304 would be wrong.
            self._etag, self._body = answer.headers.get("etag"), body
            return body


def open_source(url: str, stack: AsyncExitStack, *how: Any) -> FileSource | HttpSource:
    """Opens a `file:` or HTTP(S) URL until `stack` closes. `how` are further arguments of `HttpSource`."""
    if path := file_of(url):
        return FileSource(path)
    source = HttpSource(url, *how)
    stack.push_async_callback(source.aclose)
    return source


class JsonError(ValueError):
    """The text is not JSON as required. The message is a predicate without any of the text, such as "are not JSON"."""


def strict_json(content: bytes) -> Any:
    """Parses JSON in UTF-8. Raises `JsonError`, also for repeated names, NaN and infinities."""
    try:
        return json.loads(content.decode(), object_pairs_hook=_refuse_repeated_names, parse_constant=_refuse_constant)
    except JsonError:
        raise
    except UnicodeError:
        raise JsonError("are not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"are not JSON (line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError):
        raise JsonError("are not JSON") from None


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise JsonError("have a name twice in one object")
    return value


def _refuse_constant(constant: str) -> Any:
    raise JsonError("are not JSON")


POLL_SECONDS = 1.0


async def follow_file(setting: str, read: Callable[[], T], take: Callable[[T], str | None]) -> None:
    """Reads a setting's file every second and passes the content to `take`, which returns a log message if it has changed,
    else None. While `read` hangs or raises `SettingError`, logs one warning and takes nothing. Runs until cancelled."""
    failed, threads = False, Threads(f"file of {setting}", 1)
    while True:
        await asyncio.sleep(POLL_SECONDS)
        try:
            content = await threads.run(read, FILE_SECONDS)
        except (SettingError, OSError) as error:
            if not failed:
                why = error if isinstance(error, SettingError) else f"{setting}: {error.strerror or LATE}"
                logger.warning("%s; the last good version stays in use", why)
            failed = True
            continue
        if failed:
            logger.info("%s can be read again", setting)
        failed = False
        if change := take(content):
            logger.info("%s", change)
