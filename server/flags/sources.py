"""Sources of the flags document: a file, or an HTTP(S) URL such as that of the AppConfig agent:

http://localhost:2772/applications/APPLICATION/environments/ENVIRONMENT/configurations/PROFILE"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import httpx2

from server.config.parsing import is_loopback
from server.flags.document import MOST_BYTES


class Unreadable(Exception):
    """The document cannot be read now. The message is for operators and contains no secret."""


class Source(Protocol):
    async def read(self) -> bytes | None:
        """Returns the document, or None if it is unchanged. A longer one than `MOST_BYTES` may be cut off, but stays too
        long for `parse`. Raises `Unreadable`."""
        ...


class FileSource:
    """Reads the whole file each time, since modification times are too coarse to show every change."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> bytes | None:
        try:
            return await asyncio.to_thread(self._content)
        except OSError as error:
            raise Unreadable(f"{self._path} cannot be read: {error.strerror}") from error

    def _content(self) -> bytes:
        # Non-blocking: opening a pipe without a writer would block this thread, and with it the process's exit.
        with open(self._path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is no file")
            return file.read(MOST_BYTES + 1)


ALL_SECONDS = 2.0


class HttpSource:
    """Sends conditional requests (If-None-Match, RFC 9110) and does not follow redirects."""

    def __init__(self, url: str) -> None:
        # Ignores the environment's proxy for loopback addresses.
        outside = not is_loopback(urlsplit(url).hostname or "")
        self._client = httpx2.AsyncClient(timeout=1.0, follow_redirects=False, trust_env=outside)
        self._url = url
        self._etag: str | None = None
        self.aclose = self._client.aclose

    async def read(self) -> bytes | None:
        try:
            async with asyncio.timeout(ALL_SECONDS):
                return await self._fetch()
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise Unreadable("it does not answer in time") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
            raise Unreadable(f"it cannot be reached ({type(error).__name__})") from error

    async def _fetch(self) -> bytes | None:
        # Uncompressed: decompressed, a body could be far larger than the bytes that are counted.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._etag is not None:
            headers["If-None-Match"] = self._etag
        async with self._client.stream("GET", self._url, headers=headers) as answer:
            if answer.status_code == 304 and self._etag is not None:
                return None
            if answer.status_code != 200:
                raise Unreadable(f"it answers with status {answer.status_code}")
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise Unreadable("it answers compressed, which was not asked for")
            body = b""
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MOST_BYTES:
                    break
            self._etag = answer.headers.get("etag")  # not before: after a partial body a 304 would be wrong
            return body
