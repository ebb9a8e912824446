"""Every implementation of PagesPort: the demo's pictures, a directory, a bucket."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import socket
import sys
import threading
from asyncio.subprocess import PIPE
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from session.resilience.deadline import Deadline
from tests.support import s3
from tests.support.cases import cases
from tests.support.images import SVG, jpeg, png, webp
from tests.support.s3 import Bucket
from tests.support.valkey import eventually
from tools.store.backends.aws_address import S3Address
from tools.store.backends.pages.directory import DEMO_PREVIEWS, THREADS, DemoPages, DirectoryPages
from tools.store.backends.pages.s3 import S3Pages
from tools.store.failures import DependencyFailure, Throttled, TimedOut
from tools.store.models.order import MOST_PAGE_BYTES, MOST_PAGES, MOST_PREVIEW_BYTES
from tools.store.ports import PagesPort

TITLE = "manga-000001"
FILES = {"1.webp": webp(), "2.png": png(), "3.jpg": jpeg(), "2.txt": b"A cat\non a roof.", "4.webp": webp()}
HANGING = """
import asyncio, os, sys, threading
from contextlib import nullcontext
from pathlib import Path
from session.resilience.deadline import Deadline
from tools.store.backends.pages.directory import DirectoryPages
from tools.store.failures import TimedOut

def hang(*_, **__):
    threading.Event().wait()

async def ask():
    async with nullcontext(DirectoryPages(Path(sys.argv[1]))) as port:
        os.open = hang
        for _ in range(7):
            try:
                await port.pages("manga-000001", 1, Deadline.after(0.05))
            except TimedOut:
                print("TimedOut")
        print(sum(each.name == "pages" for each in threading.enumerate()), flush=True)

asyncio.run(ask())
"""
"""Asks more often than there are threads."""
Put = Callable[[str, bytes], None]
"""Puts a file under `{title}/{volume}/{name}`."""


@dataclass
class Shop:
    """An implementation, and how something is put into it."""

    port: PagesPort
    put: Put


@pytest.fixture
async def bucket() -> AsyncIterator[Bucket]:
    async with s3.serving(Bucket()) as serving:
        yield serving


def _s3(bucket: Bucket) -> AbstractAsyncContextManager[S3Pages]:
    return S3Pages.open(S3Address.parse(bucket.url()))


def _put_into(folder: Path) -> Put:
    def put(name: str, data: bytes) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    return put


@pytest.fixture(params=["directory", "s3"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path, bucket: Bucket) -> AsyncIterator[Shop]:
    if request.param == "directory":
        async with nullcontext(DirectoryPages(tmp_path)) as port:
            yield Shop(port, _put_into(tmp_path))
        return
    async with _s3(bucket) as port:
        yield Shop(port, lambda name, data: bucket.objects.update({f"previews/{name}": data}))


@pytest.fixture(params=["demo", "directory", "s3"])
async def filled(request: pytest.FixtureRequest, tmp_path: Path, bucket: Bucket) -> AsyncIterator[PagesPort]:
    """With a preview of volume 1 of TITLE."""
    if request.param == "demo":
        async with DemoPages.open() as port:
            yield port
        return
    for name, data in FILES.items():
        bucket.objects[f"previews/{TITLE}/1/{name}"] = data
        _put_into(tmp_path)(f"{TITLE}/1/{name}", data)
    async with _s3(bucket) if request.param == "s3" else nullcontext(DirectoryPages(tmp_path)) as port:
        yield port


async def test_preview_is_the_first_pages_in_order_within_the_size_limits(filled: PagesPort, soon: Deadline) -> None:
    preview = await filled.pages(TITLE, 1, soon)
    assert preview is not None
    assert [page.number for page in preview.pages] == list(range(1, MOST_PAGES + 1))
    assert preview.left_out == ()
    assert {page.media_type for page in preview.pages} <= {"image/png", "image/webp", "image/jpeg"}
    assert all(0 < len(page.data) <= MOST_PAGE_BYTES for page in preview.pages)
    assert sum(len(page.data) for page in preview.pages) <= MOST_PREVIEW_BYTES


async def test_preview_is_the_same_for_repeated_and_concurrent_calls(filled: PagesPort, soon: Deadline) -> None:
    first = await filled.pages(TITLE, 1, soon)
    assert await asyncio.gather(*(filled.pages(TITLE, 1, soon) for _ in range(8))) == [first] * 8


async def test_health_of_working_pages_is_ok(filled: PagesPort, soon: Deadline) -> None:
    health = await filled.health(soon)
    assert (health.ok, bool(health.detail)) == (True, True)


async def test_expired_deadline_raises_timed_out(filled: PagesPort) -> None:
    with pytest.raises(TimedOut):
        await filled.pages(TITLE, 1, Deadline.after(0))


async def test_each_page_has_the_stored_bytes_and_its_alternative_text(shop: Shop, soon: Deadline) -> None:
    for name, data in FILES.items():
        shop.put(f"{TITLE}/3/{name}", data)
    preview = await shop.port.pages(TITLE, 3, soon)
    assert preview is not None
    assert [(page.media_type, page.data) for page in preview.pages] == [
        ("image/webp", FILES["1.webp"]),
        ("image/png", FILES["2.png"]),
        ("image/jpeg", FILES["3.jpg"]),
    ]
    assert [page.alt for page in preview.pages] == [None, "A cat on a roof.", None]


async def test_volume_without_pages_has_no_preview(shop: Shop, soon: Deadline) -> None:
    shop.put(f"{TITLE}/1/1.webp", webp())
    shop.put(f"{TITLE}/5/10.webp", webp())
    shop.put(f"{TITLE}/6/readme.txt", b"x")
    for title_id, volume in ((TITLE, 2), (TITLE, 5), (TITLE, 6), ("manga-000002", 1), (TITLE, 11)):
        assert await shop.port.pages(title_id, volume, soon) is None


async def test_missing_page_numbers_are_skipped(shop: Shop, soon: Deadline) -> None:
    shop.put(f"{TITLE}/1/3.jpeg", jpeg())
    preview = await shop.port.pages(TITLE, 1, soon)
    assert preview is not None
    assert ([page.number for page in preview.pages], preview.left_out) == ([3], ())


@cases(
    "hostile",
    [SVG, b"", webp()[:-1], png()[:-4], jpeg()[:40], png(size=MOST_PAGE_BYTES + 1), png(5000, 8), b"\0" * (3 * 2**20)],
    ids=["svg", "empty", "webp cut", "png cut", "jpeg cut", "too large", "too wide", "megabytes"],
)
async def test_malformed_or_oversized_page_is_left_out_and_the_others_kept(
    shop: Shop, soon: Deadline, hostile: bytes
) -> None:
    for name, data in (("1.png", hostile), ("2.png", png()), ("3.webp", webp())):
        shop.put(f"{TITLE}/1/{name}", data)
    preview = await shop.port.pages(TITLE, 1, soon)
    assert preview is not None
    assert ([page.number for page in preview.pages], preview.left_out) == ([2, 3], (1,))


async def test_third_large_page_exceeds_the_preview_limit_and_is_left_out(shop: Shop, soon: Deadline) -> None:
    for number in (1, 2, 3):
        shop.put(f"{TITLE}/1/{number}.png", png(size=MOST_PAGE_BYTES))
    preview = await shop.port.pages(TITLE, 1, soon)
    assert preview is not None
    assert ([page.number for page in preview.pages], preview.left_out) == ([1, 2], (3,))


@pytest.mark.parametrize("title_id", ["..", "../outside", "a/../../outside", "", ".", "a\0b", "x" * 65, "/etc"])
async def test_title_id_cannot_escape_the_directory(tmp_path: Path, soon: Deadline, title_id: str) -> None:
    _put_into(tmp_path)("outside/1/1.webp", webp())
    _put_into(tmp_path)("1/1.webp", webp())
    (tmp_path / "pages").mkdir()
    async with nullcontext(DirectoryPages(tmp_path / "pages")) as port:
        assert await port.pages(title_id, 1, soon) is None


async def test_no_symbolic_link_is_followed_at_any_level(tmp_path: Path, soon: Deadline) -> None:
    _put_into(tmp_path)("outside/1/1.webp", webp())
    root, outside = tmp_path / "pages", tmp_path / "outside"
    for title in ("c", "d"):
        (root / title / "1").mkdir(parents=True)
    (root / "a").symlink_to(outside)
    (root / "b").mkdir()
    (root / "b" / "1").symlink_to(outside / "1")
    (root / "c" / "1" / "1.webp").symlink_to(outside / "1" / "1.webp")
    (root / "d" / "1" / "1.webp").symlink_to("/dev/zero")
    async with nullcontext(DirectoryPages(root)) as port:
        found = [await port.pages(title, 1, soon) for title in "abcd"]
    assert found[:2] == [None, None]
    assert [preview and (preview.pages, preview.left_out) for preview in found[2:]] == [((), (1,))] * 2


async def test_directory_or_pipe_among_the_pages_is_left_out_without_blocking(tmp_path: Path, soon: Deadline) -> None:
    folder = tmp_path / TITLE / "1"
    (folder / "1.png").mkdir(parents=True)
    os.mkfifo(folder / "2.webp")
    (folder / "3.jpg").write_bytes(jpeg())
    async with nullcontext(DirectoryPages(tmp_path)) as port:
        preview = await port.pages(TITLE, 1, soon)
    assert preview is not None
    assert ([page.number for page in preview.pages], preview.left_out) == ([3], (1, 2))


async def test_socket_among_the_pages_is_left_out_and_no_failure(
    tmp_path: Path, soon: Deadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise one volume would open the breaker for all."""
    folder = tmp_path / TITLE / "1"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)  # a socket's path may have no more than 107 characters
    async with nullcontext(DirectoryPages(tmp_path)) as port:
        with socket.socket(socket.AF_UNIX) as there:
            there.bind("1.png")
            preview = await port.pages(TITLE, 1, soon)
    assert preview is not None
    assert (preview.pages, preview.left_out) == ((), (1,))


async def test_file_of_a_hundred_megabytes_is_never_read(tmp_path: Path, soon: Deadline) -> None:
    folder = tmp_path / TITLE / "1"
    folder.mkdir(parents=True)
    with (folder / "1.png").open("wb") as file:
        file.truncate(100 * 2**20)
    async with nullcontext(DirectoryPages(tmp_path)) as port:
        preview = await port.pages(TITLE, 1, soon)
    assert preview is not None
    assert (preview.pages, preview.left_out) == ((), (1,))


async def test_unreadable_folder_affects_its_own_title_only(
    tmp_path: Path, soon: Deadline, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise one title would open the breaker for all. A superuser, who may run tests, can read any folder."""
    _put_into(tmp_path)(f"{TITLE}/1/1.png", png())
    _put_into(tmp_path)("locked/1/1.png", png())
    opening = os.open

    def let_in(name: str | Path, flags: int, **of: int | None) -> int:
        if name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opening(name, flags, **of)  # type: ignore[arg-type]

    monkeypatch.setattr("tools.store.backends.pages.directory.os.open", let_in)
    async with nullcontext(DirectoryPages(tmp_path)) as port:
        assert await port.pages("locked", 1, soon) is None
        assert await port.pages(TITLE, 1, soon) is not None
    assert "locked has no preview" in caplog.text


async def test_hanging_disk_blocks_only_its_threads_and_not_the_exit(tmp_path: Path) -> None:
    """It runs in a process of its own, which has to end although the disk never answers."""
    (tmp_path / "pages").mkdir()
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", HANGING, str(tmp_path / "pages"), stdout=PIPE)
    async with asyncio.timeout(60):
        told, _ = await ended.communicate()
    assert (ended.returncode, told.split()) == (0, [b"TimedOut"] * 7 + [b"4"])


async def test_call_fails_at_once_when_no_thread_can_be_started_and_frees_its_slot(tmp_path: Path, soon: Deadline) -> None:
    """A stack that no address space holds is refused, as a process of too many threads is: more often than there are places."""
    (tmp_path / TITLE / "1").mkdir(parents=True)
    (tmp_path / TITLE / "1" / "1.webp").write_bytes(webp())
    async with nullcontext(DirectoryPages(tmp_path)) as port:
        usual = threading.stack_size(2**46)
        try:
            for _ in range(2 * THREADS):
                with pytest.raises(DependencyFailure):
                    await port.pages(TITLE, 1, soon)
        finally:
            threading.stack_size(usual)
        assert await port.pages(TITLE, 1, soon) is not None


async def test_missing_directory_is_a_failure_that_names_no_path(tmp_path: Path, soon: Deadline) -> None:
    async with nullcontext(DirectoryPages(tmp_path / "gone")) as port:
        with pytest.raises(DependencyFailure) as raised:
            await port.pages(TITLE, 1, soon)
        assert (await port.health(soon)).ok is False
    assert str(tmp_path) not in str(raised.value)


async def test_page_listed_as_oversized_is_not_downloaded(bucket: Bucket, soon: Deadline) -> None:
    bucket.objects[f"previews/{TITLE}/1/1.png"] = png()
    bucket.listed_as[f"previews/{TITLE}/1/1.png"] = 100 * 2**20
    async with _s3(bucket) as port:
        preview = await port.pages(TITLE, 1, soon)
    assert preview is not None
    assert preview.left_out == (1,)
    assert not [asked for asked in bucket.asked if "list-type" not in asked]


async def test_page_that_grew_since_it_was_listed_is_left_out(bucket: Bucket, soon: Deadline) -> None:
    bucket.objects[f"previews/{TITLE}/1/1.png"] = bytes(MOST_PAGE_BYTES + 1)
    bucket.listed_as[f"previews/{TITLE}/1/1.png"] = 100
    async with _s3(bucket) as port:
        preview = await port.pages(TITLE, 1, soon)
    assert preview is not None
    assert preview.left_out == (1,)


async def test_bucket_requests_are_signed(bucket: Bucket, soon: Deadline) -> None:
    async with _s3(bucket) as port:
        await port.pages(TITLE, 1, soon)
    assert len(bucket.signed) == MOST_PAGES
    assert all(signed.startswith("AWS4-HMAC-SHA256 ") for signed in bucket.signed)


@cases(
    ("answer", "kind", "said"),
    [
        (s3.refuses("AccessDenied"), DependencyFailure, "not allowed"),
        (s3.refuses("SlowDown", 503), Throttled, "too busy"),
        (s3.refuses("NoSuchBucket", 404), DependencyFailure, "bucket of the pages is not there"),
        (s3.refuses("InternalError", 500), DependencyFailure, "failed to answer"),
        (s3.talks_nonsense, DependencyFailure, "cannot be read"),
        (s3.breaks_off, DependencyFailure, "broke off"),
    ],
)
async def test_bucket_error_fails_the_call_in_own_words_without_secrets(
    bucket: Bucket, soon: Deadline, answer: s3.Answer, kind: type[Exception], said: str
) -> None:
    bucket.objects[f"previews/{TITLE}/1/1.png"] = png(size=99_000)
    bucket.answer = answer
    async with _s3(bucket) as port:
        with pytest.raises(kind, match=said) as raised:
            await port.pages(TITLE, 1, soon)
    assert "hunter2" not in str(raised.value)
    assert "127.0.0.1" not in str(raised.value)


async def test_hanging_bucket_times_out_at_the_deadline(bucket: Bucket) -> None:
    async with _s3(bucket) as port:
        bucket.answer = s3.hangs
        with pytest.raises(TimedOut):
            await port.pages(TITLE, 1, Deadline.after(0.1))
        assert (await port.health(Deadline.after(0.05))).ok is False
        await eventually(lambda: bucket.hung_up == len(bucket.asked))


async def test_unreachable_bucket_is_a_failure_and_does_not_stop_the_start(soon: Deadline) -> None:
    async with S3Pages.open(S3Address.parse("s3://pages?region=eu-west-1&endpoint=http://127.0.0.1:9")) as port:
        with pytest.raises(DependencyFailure, match="cannot be reached"):
            await port.pages(TITLE, 1, soon)


async def test_pictures_of_every_demo_volume_are_readable_and_fit_into_60_kib(soon: Deadline) -> None:
    """A volume has three, each with its text; hosts that read lines of 64 KiB can take them."""
    shown = set()
    async with DemoPages.open() as port:
        for volume in range(1, 40):
            preview = await port.pages(TITLE, volume, soon)
            assert preview is not None
            assert sum(len(b64encode(page.data)) for page in preview.pages) < 60 * 1024
            for page in preview.pages:
                with Image.open(io.BytesIO(page.data)) as image:
                    image.load()
                    assert page.media_type == Image.MIME[str(image.format)]
                assert "placeholder" in str(page.alt)
                shown.add(page.data)
    assert len(shown) == DEMO_PREVIEWS * MOST_PAGES
