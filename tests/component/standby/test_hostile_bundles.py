"""Hostile standby bundles and places, and a full disk."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from server.standby import replica as replicas
from server.standby.bundle import FULL, MOST_BYTES, MOST_TIMES, BundleError, FileStore, UnreachableError, unpack
from server.standby.replica import Replica
from tests.support.standby import bundle_of, read_manifest
from tests.support.store import RECORDS
from tests.support.valkey import eventually
from tools.store.records.catalog_file import parse

SOON = 30.0
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
Change = Callable[[bytes], bytes]


@pytest.fixture
async def bundle(tmp_path: Path) -> Path:
    records = parse("".join(f"{json.dumps(each)}\n" for each in RECORDS).encode())
    return await bundle_of(tmp_path / "standby.bundle", records)


def with_archive(bundle: Path, payload: bytes) -> None:
    """The same first line, true of another archive."""
    said = replace(read_manifest(bundle), size=len(payload), digest=sha256(payload).hexdigest())
    bundle.write_bytes(said.line() + payload)


def archive(records: bytes = b"{}\n" * 99) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("catalog.jsonl", records)
    return content.getvalue()


def with_byte(local: int, central: int, value: int) -> Change:
    """Says something else of its only member."""

    def change(payload: bytes) -> bytes:
        changed = bytearray(payload)
        changed[payload.index(LOCAL) + local] = value
        changed[payload.index(CENTRAL) + central] = value
        return bytes(changed)

    return change


def damaged(payload: bytes) -> bytes:
    start = payload.index(b"catalog.jsonl") + len(b"catalog.jsonl")
    return payload[:start] + b"\xff" * 8 + payload[start + 8 :]


ARCHIVES: dict[str, Change] = {
    "encrypted": with_byte(6, 8, 1),
    "of another method": with_byte(8, 10, zipfile.ZIP_BZIP2),
    "damaged": damaged,
    "a bomb": lambda _: archive(b"\n" * (MOST_TIMES * 20_000)),
    "without its beginning": lambda payload: payload[payload.index(CENTRAL) :],
}


@pytest.mark.parametrize("wrong", ARCHIVES)
async def test_archive_that_cannot_be_unpacked_is_refused(wrong: str, bundle: Path, tmp_path: Path) -> None:
    with_archive(bundle, ARCHIVES[wrong](archive()))
    with pytest.raises(BundleError):
        unpack(bundle, tmp_path / "unpacked")
    replica = Replica(FileStore(bundle), FULL, None)
    assert not await replica.look()
    assert (replica.refused, replica.current) == (1, None)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)


def _itself(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize("put", [_pipe, _device, _sparse, _itself, Path.mkdir])
async def test_pipe_device_or_directory_is_not_read_as_a_bundle(put: Callable[[Path], None], tmp_path: Path) -> None:
    path, copy = tmp_path / "there", tmp_path / "copy"
    put(path)
    async with asyncio.timeout(SOON):
        with pytest.raises(UnreachableError):
            await FileStore(path).fetch(None, copy)
    assert not copy.exists()


async def test_bundle_is_retried_after_the_disk_was_full(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundle is unchanged, and was valid all the time."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fails(path: Path, folder: Path) -> None:
        raise full

    replica = Replica(FileStore(bundle), FULL, None)
    with monkeypatch.context() as patched:
        patched.setattr(replicas, "unpack", fails)
        assert await replica._poll_place() == replicas.RETRY_SECONDS
        assert "No space left" in (replica.problem or "")
    await replica._poll_place()
    assert replica.current is not None
    assert replica.problem is None
    await replica.current.opened.aclose()


async def test_bundle_is_retried_after_an_unforeseen_error(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path, folder: Path) -> None:
        raise RuntimeError("unforeseen")

    replica = Replica(FileStore(bundle), FULL, None)
    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="unforeseen"):
        patched.setattr(replicas, "unpack", fails)
        await replica.look()
    assert await replica.look()
    assert replica.current is not None
    await replica.current.opened.aclose()


async def test_task_that_ended_offers_no_closed_bundle(bundle: Path) -> None:
    """A background task that ends unforeseen is run again."""
    replica = Replica(FileStore(bundle), FULL, None)
    for _ in range(2):
        running = asyncio.create_task(replica.run())
        await eventually(lambda: replica.current is not None)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert replica.current is None
