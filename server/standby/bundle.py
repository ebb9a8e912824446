"""A bundle of the standby catalogue, and its storage. A bundle is a manifest, which is one line of JSON, followed by a zip
of records and arrays.

The records are a catalogue file. The arrays are computed from the records in advance, so that a process can load the bundle
quickly. The digest detects truncation and damage; only the storage's permissions prevent forgery. `pack` and `unpack`
block."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from glob import escape
from hashlib import file_digest
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from server.config.sources import open_regular
from session.failures import MemoryUnavailable
from session.redis.keyvalue import Argument, Command, KeyValue
from session.resilience.deadline import Deadline
from session.resilience.tasks import Threads

NAMES, FULL = "names", "full"
KINDS = (NAMES, FULL)
LAYOUT = 1
"""The version of the bundle format; a server reads no other."""
LONGEST_LINE = 4096
T = TypeVar("T")


class BundleError(ValueError):
    """The bundle is unusable. The message is the reason."""


class CutShortError(BundleError):
    """The bundle is truncated, or not of its manifest's size, perhaps because it is still being written."""


Count = Annotated[int, Field(ge=0, strict=True)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The first line of a bundle. `made` is in epoch seconds. `catalog` is the SHA-256 of the records, `computed` the format
    of the arrays, and `embedder` the model of the vectors, None without vectors. `size` in bytes and `digest` (SHA-256)
    cover everything after the first line."""

    kind: Annotated[str, Field(pattern=f"^({'|'.join(KINDS)})$")]
    titles: Count
    made: Count
    catalog: Hash
    computed: str
    embedder: str | None
    size: Count
    digest: Hash
    layout: int = LAYOUT

    @classmethod
    def read(cls, line: bytes) -> Manifest:
        """Parses and checks a manifest. Raises `BundleError`."""
        try:
            said = json.loads(line)
            layout = said["layout"]
        except (ValueError, RecursionError, TypeError, KeyError):
            raise BundleError("it is no standby catalogue") from None
        if layout != LAYOUT:
            raise BundleError(f"its layout is {layout}, this version reads {LAYOUT}: seed it again")
        try:
            return MANIFEST.validate_python(said)
        except ValidationError:
            raise BundleError("its first line lacks something") from None

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    def same_as(self, other: Manifest) -> bool:
        """True if both bundles have the same content, whenever they were made."""
        return replace(self, titles=0, made=0, size=0, digest="") == replace(other, titles=0, made=0, size=0, digest="")


MANIFEST = TypeAdapter(Manifest)
RECORDS = "catalog.jsonl"
MOST_BYTES = 2**30
"""Most bytes of a bundle's unpacked files: some 500,000 titles."""
MOST_TIMES = 200
"""Largest ratio of unpacked to packed size (a zip bomb's is larger); that of records and arrays is about ten."""
_MEMBER = re.compile(r"catalog\.jsonl|index-[0-9a-f]{24}\.npz|vectors-[0-9a-f]{24}\.npy")


def pack(folder: Path, manifest: Manifest, into: Path) -> Manifest:
    """Packs `folder`'s records and arrays into the file `into`. Returns the manifest with size, digest. Raises OSError."""
    payload = into.with_name(f"{into.name}.zip")
    with zipfile.ZipFile(payload, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            if _MEMBER.fullmatch(file.name):
                archive.write(file, file.name)
    with payload.open("rb") as content:
        whole = replace(manifest, size=payload.stat().st_size, digest=file_digest(content, "sha256").hexdigest())
        content.seek(0)
        with into.open("wb") as bundle:
            bundle.write(whole.line())
            shutil.copyfileobj(content, bundle)
    payload.unlink()
    return whole


def unpack(path: Path, folder: Path) -> Manifest:
    """Verifies the whole bundle, then extracts it into `folder`. Raises `BundleError` or `OSError`."""
    with path.open("rb") as bundle:
        line = bundle.readline(LONGEST_LINE)
        if len(line) < LONGEST_LINE and not line.endswith(b"\n"):
            raise CutShortError("it is no standby catalogue: it ends within its first line")
        manifest = Manifest.read(line)
        if (size := path.stat().st_size - len(line)) != manifest.size:
            raise CutShortError(f"it has {size:,} bytes of {manifest.size:,}")
        if file_digest(bundle, "sha256").hexdigest() != manifest.digest:
            raise BundleError("its digest is wrong")
        try:
            _extract(zipfile.ZipFile(bundle), folder, min(MOST_BYTES, MOST_TIMES * size))
        except BundleError:
            raise
        except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, struct.error, zlib.error) as error:
            raise BundleError("its archive cannot be read") from error
    return manifest


def _extract(archive: zipfile.ZipFile, folder: Path, most_bytes: int) -> None:
    members = archive.infolist()
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if not all(_MEMBER.fullmatch(each.filename) and each.compress_type in methods for each in members):
        raise BundleError("it holds unexpected entries")
    if sum(each.file_size for each in members) > most_bytes:
        raise BundleError("it holds more than it may")
    if RECORDS not in archive.namelist():
        raise BundleError("it holds no records")
    archive.extractall(folder)


ALL_SECONDS = 120.0
"""Timeout, in seconds, of each method of `FileStore` and `S3Store`."""
OLD_SECONDS = 600
"""Seconds after which a replaced bundle (fetches may be under way) or an incomplete one is deleted."""
CHUNK = 256 * 1024
"""Bytes of a fetch's chunk: small, since calls share the Redis connection."""


class UnreachableError(Exception):
    """The bundle's storage cannot be read or written. The message contains no secret."""


class BundleStore(Protocol):
    """Storage of one bundle. All methods raise `UnreachableError` if it cannot be read or written."""

    async def fetch(self, since: str | None, into: Path) -> str | None:
        """Writes the bundle, possibly truncated, to the file `into` and returns its version. Returns None and writes nothing
        if the version is still `since`. Raises `UnreachableError` also if there is no bundle."""

    async def head(self) -> bytes:
        """Returns the first `LONGEST_LINE` bytes of the bundle, which contain its manifest; b"" if there is no bundle."""

    async def publish(self, bundle: Path) -> None:
        """Replaces the bundle. A concurrent `fetch` gets the old one, the new one, or a part of either."""


class FileStore:
    """Stores the bundle in a file. Its version consists of inode, modification time and size. While a disk hangs, one thread
    waits for it, and every method raises `UnreachableError`."""

    def __init__(self, path: Path) -> None:
        self._path, self._threads = path, Threads("standby bundle", 1)

    async def fetch(self, since: str | None, into: Path) -> str | None:
        return await self._run(lambda: self._copy(since, into))

    async def head(self) -> bytes:
        return await self._run(self._read_head)

    async def publish(self, bundle: Path) -> None:
        await self._run(lambda: self._replace(bundle))

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await self._threads.run(work, ALL_SECONDS)
        except OSError as error:
            raise UnreachableError(f"{self._path}: {error.strerror or type(error).__name__}") from error

    def _copy(self, since: str | None, into: Path) -> str | None:
        with open_regular(self._path) as file:
            state = os.fstat(file.fileno())
            if state.st_size > MOST_BYTES:
                raise UnreachableError(f"{self._path}: larger than any bundle")
            version = f"{state.st_ino}-{state.st_mtime_ns}-{state.st_size}"
            if version == since:
                return None
            with into.open("wb") as copy:
                shutil.copyfileobj(file, copy)
        return version

    def _read_head(self) -> bytes:
        try:
            with open_regular(self._path) as file:
                return file.read(LONGEST_LINE)
        except FileNotFoundError:
            return b""

    def _replace(self, bundle: Path) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        for left in self._path.parent.glob(f".{escape(self._path.name)}.*.part"):  # its process ended while this hung
            with suppress(FileNotFoundError):
                if left.stat().st_mtime < time.time() - OLD_SECONDS:
                    left.unlink()
        beside = self._path.with_name(f".{self._path.name}.{token_hex(8)}.part")
        try:
            shutil.copyfile(bundle, beside)
            beside.replace(self._path)
        finally:
            beside.unlink(missing_ok=True)


VERSION_KEY = "manga:mcp:standby:{catalogue}"
"""The key of the newest bundle's version. The bundle's key is this key, ":" and the version: the same cluster slot."""


class RedisStore:
    """Stores the bundle in the sessions' Redis. Does not close the connection."""

    def __init__(self, redis: KeyValue) -> None:
        self._redis = redis

    async def fetch(self, since: str | None, into: Path) -> str | None:
        version = await self._read_version()
        if version is None:
            raise UnreachableError(f"there is no key {VERSION_KEY}")
        if version == since:
            return None
        with await asyncio.to_thread(into.open, "wb") as file:
            start = 0
            while piece := bytes(await self._send_command("GETRANGE", _key_of(version), start, start + CHUNK - 1)):
                await asyncio.to_thread(file.write, piece)
                start += len(piece)
        return version

    async def head(self) -> bytes:
        version = await self._read_version()
        return b"" if version is None else bytes(await self._send_command("GETRANGE", _key_of(version), 0, LONGEST_LINE - 1))

    async def publish(self, bundle: Path) -> None:
        old, version = await self._read_version(), token_hex()
        with await asyncio.to_thread(bundle.open, "rb") as file:
            while piece := await asyncio.to_thread(file.read, CHUNK):
                await self._send_command("APPEND", _key_of(version), piece)
                await self._send_command("EXPIRE", _key_of(version), OLD_SECONDS)
        await self._send_command("PERSIST", _key_of(version))
        await self._send_command("SET", VERSION_KEY, version)
        if old is not None:
            await self._send_command("EXPIRE", _key_of(old), OLD_SECONDS)

    async def _read_version(self) -> str | None:
        version = await self._send_command("GET", VERSION_KEY)
        return None if version is None else bytes(version).decode("ascii", "replace")

    async def _send_command(self, *words: Argument) -> Any:
        try:
            (reply,) = await self._redis.trip([Command(words)], Deadline.after(2.0))
        except MemoryUnavailable as failure:
            raise UnreachableError("Redis does not answer") from failure
        if isinstance(reply, Exception):
            raise UnreachableError(f"Redis refuses it: {reply}") from reply
        return reply


def _key_of(version: str) -> str:
    return f"{VERSION_KEY}:{version}"
