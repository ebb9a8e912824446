"""Hostile standby bundles and places, and a full disk."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from server.standby import bundle as bundles
from server.standby import replica as replicas
from server.standby.bundle import FULL, MOST_TIMES, NAMES, BundleError, FileStore, Manifest, UnreachableError, unpack
from server.standby.replica import Replica
from tests.support.cases import cases
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


def archive(records: bytes = b"{}\n" * 99, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as made:
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


def with_bytes(payload: bytes, central: int, value: int) -> bytes:
    at = payload.index(CENTRAL) + central
    return payload[:at] + value.to_bytes(4, "little") + payload[at + 4 :]


def damaged(payload: bytes) -> bytes:
    start = payload.index(b"catalog.jsonl") + len(b"catalog.jsonl")
    return payload[:start] + b"\xff" * 8 + payload[start + 8 :]


ARCHIVES: dict[str, Change] = {
    "encrypted": with_byte(6, 8, 1),
    "of another method": with_byte(8, 10, zipfile.ZIP_BZIP2),
    "damaged": damaged,
    "a bomb": lambda _: archive(b"\n" * (MOST_TIMES * 20_000)),
    "without its beginning": lambda payload: payload[payload.index(CENTRAL) :],
    "longer than it is": lambda _: with_byte(23, 25, 0x10)(with_byte(19, 21, 0x10)(archive(method=zipfile.ZIP_STORED))),
    "with its header at the end": lambda payload: with_bytes(payload, 42, len(payload) - 5),
}


async def test_bundle_of_records_that_are_none_is_refused(bundle: Path) -> None:
    with_archive(bundle, archive())
    replica = Replica(FileStore(bundle), FULL, None)
    assert not await replica.look()
    assert (replica.refused, replica.current) == (1, None)


@pytest.mark.parametrize("wrong", ARCHIVES)
async def test_archive_that_cannot_be_unpacked_is_refused(wrong: str, bundle: Path, tmp_path: Path) -> None:
    with_archive(bundle, ARCHIVES[wrong](archive()))
    with pytest.raises(BundleError):
        unpack(bundle, tmp_path / "unpacked")
    replica = Replica(FileStore(bundle), FULL, None)
    assert not await replica.look()
    assert (replica.refused, replica.current) == (1, None)


def unpacked(bundle: Path, folder: Path) -> str:
    """Why it cannot be; "" where it can."""
    try:
        unpack(bundle, folder)
    except BundleError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def compressed_to(share: float) -> bytes:
    """An archive of random records and blank lines, of so many bytes for each of its own."""
    least, most, noise = 0, 10**6, random.Random(1).randbytes(1000)
    while most - least > 1:
        middle = (least + most) // 2
        made = archive(noise + b"\n" * middle)
        least, most = (middle, most) if (len(noise) + middle) / len(made) < share else (least, middle)
    return made


async def test_archive_may_grow_to_200_times_its_size_and_to_the_most_bytes_of_a_bundle(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for share, why in ((199.5, ""), (200.5, "BundleError: it holds more than it may")):
        with_archive(bundle, compressed_to(share))
        assert unpacked(bundle, tmp_path / "out") == why
    with_archive(bundle, archive())
    for most, why in ((297, ""), (296, "BundleError: it holds more than it may")):
        monkeypatch.setattr(bundles, "MOST_BYTES", most)
        assert unpacked(bundle, tmp_path / "out") == why


async def test_archive_without_records_is_refused_behind_one_of_more_than_a_gigabyte(bundle: Path, tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        made.writestr(f"vectors-{'0' * 24}.npy", bytes(2**30 // 200))
    for size, why in ((2**30, "it holds no records"), (2**30 + 1, "it holds more than it may")):
        with_archive(bundle, with_bytes(content.getvalue(), 24, size))
        assert unpacked(bundle, tmp_path / "out") == f"BundleError: {why}"


NO_CATALOGUE = "it is no standby catalogue"


@cases(
    ("content", "why"),
    [
        (b"", f"CutShortError: {NO_CATALOGUE}: it ends within its first line"),
        (b"7", f"CutShortError: {NO_CATALOGUE}: it ends within its first line"),
        (b"7" * 4095, f"CutShortError: {NO_CATALOGUE}: it ends within its first line"),
        (b"7" * 4096, f"BundleError: {NO_CATALOGUE}"),
        (b"7\n", f"BundleError: {NO_CATALOGUE}"),
        (b"[" * 4000 + b"\n", f"BundleError: {NO_CATALOGUE}"),
        (b"{}\n", f"BundleError: {NO_CATALOGUE}"),
        (b'["layout"]\n', f"BundleError: {NO_CATALOGUE}"),
        (b'{"layout": 2}\n', "BundleError: its layout is 2, this version reads 1: seed it again"),
        (b'{"layout": 0}\n', "BundleError: its layout is 0, this version reads 1: seed it again"),
        (b'{"layout": 1}\n', "BundleError: its first line lacks something"),
    ],
)
def test_file_is_cut_short_only_while_its_first_line_may_go_on(content: bytes, why: str, tmp_path: Path) -> None:
    """One that is cut short is fetched again; another is refused until it changes."""
    (tmp_path / "there").write_bytes(content)
    assert unpacked(tmp_path / "there", tmp_path / "out") == why


async def test_first_line_is_refused_if_any_part_is_missing_or_wrong(bundle: Path) -> None:
    said: dict[str, Any] = json.loads(read_manifest(bundle).line())
    right = [("titles", 0), ("made", 0), ("size", 0), ("kind", NAMES), ("embedder", "x"), ("digest", "f" * 64)]
    wrong = [(name, value) for name in ("titles", "made", "size") for value in (-1, 1.5, "1")]
    wrong += [(name, value) for name in ("catalog", "digest") for value in ("a" * 63, "a" * 65, "A" * 64)]
    wrong += [("kind", "some"), ("kind", ""), ("computed", 2), ("embedder", 2)]
    missing = [
        {other: said[other] for other in said if other != name} for name in said if name not in ("embedder", "layout")
    ]
    for name, value in right:
        assert getattr(Manifest.read(json.dumps({**said, name: value}).encode()), name) == value
    for each in [*missing, *({**said, name: value} for name, value in wrong)]:
        with pytest.raises(BundleError, match="its first line lacks something"):
            Manifest.read(json.dumps(each).encode())


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**30 + 1)


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
        assert await replica._poll_place() == 5.0
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
