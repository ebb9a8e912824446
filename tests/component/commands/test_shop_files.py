"""The files of a shop on AWS: fetched before the server starts, and the policies followed while it runs."""

from __future__ import annotations

import asyncio
import gzip
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from infra.seed.fetch import fetch, follow
from server.standby.bundle import UnreachableError
from tests.support.cases import cases
from tests.support.process import run, until
from tests.support.s3 import Answer, Bucket, breaks_off, refuses, serving, talks_nonsense

KEY = "shop/policies.md"
FIRST, SECOND = b"# shipping en\nFive days.\n", b"# shipping en\nThree days.\n"
PROGRAM = (sys.executable, "-m", "infra.seed.fetch")
STAY = "the last good policies stay in use"


@pytest.fixture
async def bucket(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bucket]:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    async with serving(Bucket({KEY: FIRST})) as bucket:
        yield bucket


@pytest.fixture
async def file(bucket: Bucket, tmp_path: Path) -> AsyncIterator[Path]:
    """The first version, followed."""
    await fetch(bucket.url(KEY), tmp_path)
    following = asyncio.create_task(follow(bucket.url(KEY), tmp_path, 0.01))
    await until(lambda: len(bucket.asked) > 2, 30, "it looks again")
    yield tmp_path / "policies.md"
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following


async def looks_again(bucket: Bucket) -> None:
    """Waits for whole looks after the present one; the last of them may be under way."""
    enough = len(bucket.asked) + 8
    await until(lambda: len(bucket.asked) > enough, 30, "it looks again")


async def test_file_is_fetched_under_its_own_name_for_every_user(bucket: Bucket, tmp_path: Path) -> None:
    await fetch(bucket.url(KEY), tmp_path)
    (file,) = tmp_path.iterdir()
    assert (file.name, file.read_bytes(), file.stat().st_mode & 0o777) == ("policies.md", FIRST, 0o644)


@cases("answer", [refuses("AccessDenied"), breaks_off, talks_nonsense], ids=["denied", "broken off", "nonsense"])
async def test_file_that_comes_in_part_is_not_there(bucket: Bucket, tmp_path: Path, answer: Answer) -> None:
    bucket.answer = answer
    with pytest.raises(UnreachableError):
        await fetch(bucket.url(KEY), tmp_path)
    assert not (tmp_path / "policies.md").exists()


@cases(
    ("scheme", "told"),
    [("http:", ": NoSuchKey"), ("https:", " cannot be reached (EndpointConnectionError)")],
    ids=["no file", "no role"],
)
async def test_missing_file_or_role_ends_the_container_with_one_line(
    bucket: Bucket, tmp_path: Path, scheme: str, told: str
) -> None:
    """Over HTTP no role is asked for."""
    config = tmp_path / "config"
    keys = "[profile keys]\naws_access_key_id=a\naws_secret_access_key=b\n"
    config.write_text(f"[profile server]\nrole_arn=arn:aws:iam::111122223333:role/x\nsource_profile=keys\n{keys}")
    away = {"AWS_CONFIG_FILE": str(config), "AWS_PROFILE": "server", "AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"}
    url = bucket.url("shop/missing.md").replace("http:", scheme)
    async with run(str(tmp_path), url, program=PROGRAM, variables=away) as process:
        assert await process.ended(30) == 2
    assert process.lines == [f"the shop's files cannot be fetched: s3://manga-pages/shop/missing.md{told}"]


async def test_changed_policies_replace_the_file_under_its_readers(bucket: Bucket, file: Path) -> None:
    with file.open("rb") as reader:
        bucket.objects[KEY] = SECOND
        await until(lambda: file.read_bytes() == SECOND, 30, "the new version is there")
        assert reader.read() == FIRST, "a reader has the whole of one version"
    assert file.stat().st_mode & 0o777 == 0o644


@cases("answer", [refuses("NoSuchKey", 404), refuses("AccessDenied"), breaks_off])
async def test_unreachable_policies_stay_with_one_line_until_they_are_back(
    bucket: Bucket, file: Path, capsys: pytest.CaptureFixture[str], answer: Answer
) -> None:
    before, bucket.answer = file.read_bytes(), answer
    await looks_again(bucket)
    assert file.read_bytes() == before
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("s3://manga-pages/shop/policies.md")
    assert line.endswith(STAY)
    bucket.answer, bucket.objects[KEY] = None, before + b"Or so.\n"
    await until(lambda: file.read_bytes() == bucket.objects[KEY], 30, "the new version is there")
    assert capsys.readouterr().err == "the policies can be fetched again\n"


@cases(
    ("broken", "told"),
    [
        (b"", "there is no text"),
        (b"# shiping en\nx\n", "line 1: 'shiping' is a slip of 'shipping'"),
        (FIRST[:20] + b"\xe3", "it is not UTF-8 text"),
        (gzip.compress(FIRST)[:-9], "cannot read policies.md.new: EOFError"),
        (FIRST + b" " * 2**23, "has more than 5242880 bytes"),
        (gzip.compress(FIRST + b" " * 2**23), "has more than 5242880 bytes"),
    ],
    ids=["empty", "slip", "cut in a character", "cut in the archive", "large", "large when unpacked"],
)
async def test_unusable_policies_are_told_once_and_replace_nothing(
    bucket: Bucket, file: Path, capsys: pytest.CaptureFixture[str], broken: bytes, told: str
) -> None:
    before, bucket.objects[KEY] = file.read_bytes(), broken
    await looks_again(bucket)
    assert file.read_bytes() == before
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert line.endswith(STAY)
    bucket.objects[KEY] = before + b"Or so.\n"
    await until(lambda: file.read_bytes() == bucket.objects[KEY], 30, "the mended version is there")


async def test_follower_ends_at_once_when_its_task_ends(bucket: Bucket, tmp_path: Path) -> None:
    async with run("--follow", "600", str(tmp_path), bucket.url(KEY), program=PROGRAM) as process:
        await until((tmp_path / "policies.md").exists, 30, "the policies are there")
        process.signal(signal.SIGTERM)
        assert await process.ended(5) == 128 + signal.SIGTERM
    assert process.lines == []
