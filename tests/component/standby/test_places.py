"""Places of a bundle: a file, an S3 bucket, the sessions' Redis. Each returns what was published."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from server.standby import bundle as bundles
from server.standby.bundle import CHUNK, VERSION_KEY, BundleStore, FileStore, RedisStore, UnreachableError
from server.standby.opening import open_place
from session.redis.keyvalue import Command, Step
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.aws_calls import asked_of_aws
from tests.support.cases import cases
from tests.support.s3 import Bucket, hangs, refuses, serving
from tests.support.valkey import ask

__all__ = ["asked_of_aws"]

KEY = "standby/manga.bundle"
CONTENT = bytes(range(256)) * (3 * CHUNK // 256) + b"the end"


@pytest.fixture
async def bucket(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bucket]:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    async with serving(Bucket()) as bucket:
        yield bucket


@pytest.fixture(params=["file", "s3", "redis"])
async def place(
    request: pytest.FixtureRequest, tmp_path: Path, bucket: Bucket, redis: MultiplexedRedis
) -> AsyncIterator[BundleStore]:
    urls = {"file": (tmp_path / "not" / "yet" / "manga.bundle").as_uri(), "s3": bucket.url(KEY), "redis": "redis:"}
    async with AsyncExitStack() as stack:
        yield open_place(urls[request.param], redis, stack)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "made"
    path.write_bytes(CONTENT)
    return path


async def test_published_bundle_is_fetched_once_per_version(place: BundleStore, written: Path, tmp_path: Path) -> None:
    await place.publish(written)
    mark = await place.fetch(None, tmp_path / "fetched")
    assert mark
    for other in (None, "", "0", "~"):  # before and behind any mark
        assert await place.fetch(other, tmp_path / "fetched") == mark
        assert (tmp_path / "fetched").read_bytes() == CONTENT
    assert await place.fetch(mark, tmp_path / "again") is None
    assert not (tmp_path / "again").exists()


async def test_newly_published_bundle_has_another_version_mark(place: BundleStore, written: Path, tmp_path: Path) -> None:
    await place.publish(written)
    mark = await place.fetch(None, tmp_path / "fetched")
    written.write_bytes(b"newer")
    await place.publish(written)
    assert await place.fetch(mark, tmp_path / "fetched") not in (None, mark)
    assert (tmp_path / "fetched").read_bytes() == b"newer"


async def test_missing_bundle_is_reported(place: BundleStore, tmp_path: Path) -> None:
    assert await place.head() == b""
    with pytest.raises(UnreachableError):
        await place.fetch(None, tmp_path / "fetched")


async def test_head_of_a_bundle_is_read_alone(place: BundleStore, written: Path) -> None:
    await place.publish(written)
    assert await place.head() == CONTENT[:4096]


async def test_s3_error_is_reported_by_its_code_without_secrets(bucket: Bucket, written: Path, tmp_path: Path) -> None:
    bucket.answer = refuses("AccessDenied")
    async with AsyncExitStack() as stack:
        place = open_place(bucket.url(KEY), None, stack)
        for asked in (place.fetch(None, tmp_path / "x"), place.head(), place.publish(written)):
            with pytest.raises(UnreachableError, match="s3://manga-pages/standby/manga.bundle: AccessDenied") as caught:
                await asked
            assert "hunter2" not in str(caught.value)


async def test_s3_answer_without_an_etag_is_reported(bucket: Bucket, tmp_path: Path) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=CONTENT)

    bucket.answer = answer
    async with AsyncExitStack() as stack:
        with pytest.raises(UnreachableError, match="answers with something that cannot be read"):
            await open_place(bucket.url(KEY), None, stack).fetch(None, tmp_path / "x")


async def test_hanging_s3_bucket_times_out(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from server.standby import s3

    monkeypatch.setattr(s3, "ALL_SECONDS", 0.3)
    bucket.answer = hangs
    async with AsyncExitStack() as stack:
        place = open_place(bucket.url(KEY), None, stack)
        with pytest.raises(UnreachableError, match="cannot be reached"):
            await place.fetch(None, tmp_path / "x")


async def test_hanging_disk_times_out_and_holds_one_thread(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that nobody reads hangs as a network disk does."""
    place, pipe = FileStore(written), tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(bundles, "ALL_SECONDS", 0.1)
    for asked in (place.fetch(None, pipe), place.fetch(None, tmp_path / "fetched"), place.head(), place.publish(written)):
        with pytest.raises(UnreachableError, match="TimeoutError"):
            await asked
        assert [each.name for each in threading.enumerate()].count("standby bundle") == 1
    monkeypatch.undo()
    assert await asyncio.to_thread(pipe.read_bytes) == CONTENT
    assert await place.head() == CONTENT[:4096]


async def test_files_of_publications_that_were_given_up_are_removed_by_the_next(written: Path, tmp_path: Path) -> None:
    """A process that gives up ends while its thread still hangs, so it cannot tidy up. Another's publication may run."""
    place, old, running = tmp_path / "[a].bundle", tmp_path / ".[a].bundle.17.part", tmp_path / ".[a].bundle.18.part"
    for each in (old, running):
        each.write_bytes(b"part")
    os.utime(old, (0, time.time() - bundles.OLD_SECONDS - 1))
    await FileStore(place).publish(written)
    assert {each.name for each in tmp_path.iterdir()} == {written.name, place.name, running.name}


@pytest.mark.virtual_time
async def test_s3_is_asked_twice_for_five_seconds_and_a_slow_bundle_is_given_up_after_two_minutes(
    bucket: Bucket, tmp_path: Path
) -> None:
    loop = asyncio.get_running_loop()

    async def drips(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000", "ETag": '"x"'})
        await response.prepare(request)
        while True:
            await response.write(b"x")
            await asyncio.sleep(4.9)

    for answer, least, most, times in ((hangs, 10.0, 11.1, 2), (drips, 120.0, 120.1, 1)):
        bucket.answer, began = answer, loop.time()
        bucket.asked.clear()
        async with AsyncExitStack() as stack:
            with pytest.raises(UnreachableError, match="cannot be reached"):
                await open_place(bucket.url(KEY), None, stack).fetch(None, tmp_path / "x")
        assert least <= round(loop.time() - began, 3) <= most
        assert len(bucket.asked) == times


async def test_unreachable_redis_is_reported(written: Path, tmp_path: Path) -> None:
    from session.redis.address import RedisAddress

    redis = MultiplexedRedis(RedisAddress.parse("redis://127.0.0.1:1"))
    try:
        for asked in (RedisStore(redis).fetch(None, tmp_path / "x"), RedisStore(redis).publish(written)):
            with pytest.raises(UnreachableError, match="Redis does not answer"):
                await asked
    finally:
        await redis.aclose()


async def test_republishing_a_bundle_in_redis_never_breaks_a_concurrent_reader(
    redis: MultiplexedRedis, written: Path, tmp_path: Path
) -> None:
    """The same content is tried too: no key that somebody reads is overwritten."""
    place, whole = RedisStore(redis), CONTENT * 12
    written.write_bytes(whole)
    await place.publish(written)
    publishing = asyncio.create_task(place.publish(written))
    while not publishing.done():
        await place.fetch(None, tmp_path / "fetched")
        assert len((tmp_path / "fetched").read_bytes()) == len(whole)
    await publishing
    ttls = [await ask(redis, "TTL", key) for key in await ask(redis, "KEYS", f"{VERSION_KEY}:*")]
    assert sorted(ttl > 0 for ttl in ttls) == [False, True], "the old one goes, the new one stays"


async def test_fetching_from_a_directory_leaks_no_file_descriptor(tmp_path: Path) -> None:
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with pytest.raises(UnreachableError, match="no file"):
            await FileStore(tmp_path).fetch(None, tmp_path / "fetched")
    assert len(list(Path("/proc/self/fd").iterdir())) <= open_before + 1


class Overheard:
    """A connection that tells what is sent, what comes back, and for how long it is waited."""

    def __init__(self, redis: MultiplexedRedis) -> None:
        self.redis = redis
        self.sent: list[Any] = []
        self.largest = 0

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
        assert 1 < deadline.remaining() <= 2
        replies = await self.redis.trip(steps, deadline)
        for each in steps:
            assert isinstance(each, Command)
            self.sent.append(each)
            self.largest = max(self.largest, *(len(part) for part in (*each, *replies) if isinstance(part, bytes)), 0)
        return replies

    async def aclose(self) -> None: ...


async def test_bundle_in_redis_is_replaced_when_it_is_whole_and_goes_after_ten_minutes(
    redis: MultiplexedRedis, written: Path, tmp_path: Path
) -> None:
    """It is sent in pieces of 256 KiB, since calls share the connection, and one that stays incomplete goes too."""
    overheard = Overheard(redis)
    place = RedisStore(overheard)
    await place.publish(written)
    (old,) = await ask(redis, "KEYS", f"{VERSION_KEY}:*")
    overheard.sent.clear()
    await place.publish(written)
    (new,) = {each[1] for each in overheard.sent if each[0] == "APPEND"}
    assert [each if each[0] != "APPEND" else len(each[2]) for each in overheard.sent] == [
        ("GET", VERSION_KEY),
        *[step for size in (*[2**18] * 3, len(b"the end")) for step in (size, ("EXPIRE", new, 600))],
        ("PERSIST", new),
        ("SET", VERSION_KEY, new.removeprefix(f"{VERSION_KEY}:")),
        ("EXPIRE", old.decode(), 600),
    ]
    await place.fetch(None, tmp_path / "fetched")
    assert (tmp_path / "fetched").read_bytes() == CONTENT
    assert overheard.largest == 2**18


@cases("content", [b"", CONTENT])
async def test_file_larger_than_any_bundle_is_not_fetched(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, copy = tmp_path / "there", tmp_path / "copy"
    path.write_bytes(content)
    monkeypatch.setattr(bundles, "MOST_BYTES", len(content))
    await FileStore(path).fetch(None, copy)
    assert copy.read_bytes() == content
    monkeypatch.setattr(bundles, "MOST_BYTES", len(content) - 1)
    with pytest.raises(UnreachableError, match=f"{path}: larger than any bundle"):
        await FileStore(path).fetch(None, copy)
