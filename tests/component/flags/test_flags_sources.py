"""The sources of flags: a file on a real disk, and an address over a real socket."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import pytest

from server.config import sources
from server.config.parsing import read_tokens
from server.config.sources import FileSource, HttpSource, Unreadable, follow_file
from server.flags.document import MOST_BYTES, DocumentError, Flags, parse
from server.flags.follower import Follower, open_flags_source
from tests.support.cases import cases
from tests.support.flags import CUT_OFF, FAILING, HANGING, PACKED, REDIRECTING, WELL, FlagsServer, serving_flags
from tests.support.ports import free_port
from tests.support.process import until
from tests.support.wrong_dynamodb import Answer, wrong_dynamodb
from tools.registry import TOOLS


@pytest.fixture
async def flags_server() -> AsyncIterator[FlagsServer]:
    with serving_flags(b'{"lookup_order": false}') as server:
        yield server


@pytest.fixture
async def source(flags_server: FlagsServer) -> AsyncIterator[HttpSource]:
    async with aclosing(HttpSource(flags_server.url)) as opened:
        yield opened


async def why(source: HttpSource | FileSource) -> str:
    with pytest.raises(Unreadable) as caught:
        await source.read()
    return str(caught.value)


async def test_flags_file_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "flags.json"
    source = FileSource(file)
    assert await why(source) == f"{file} cannot be read: No such file or directory"
    for content in (b"{}", b'{"lookup_order": false}', b""):
        file.write_bytes(content)
        assert await source.read() == content


async def test_pipe_or_directory_as_flags_file_is_refused_without_blocking(tmp_path: Path) -> None:
    """Opening a pipe blocks until a writer opens it, and would block the end of the process."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(Unreadable, match="cannot be read"):
            await FileSource(path).read()


async def test_hanging_disk_times_out_and_holds_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A pipe that nobody writes to hangs as a network disk does, where it is opened as a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(sources, "open_regular", lambda path: path.open("rb"))
    monkeypatch.setattr(sources, "FILE_SECONDS", 0.05)
    monkeypatch.setattr(sources, "POLL_SECONDS", 0.01)
    source, taken = FileSource(pipe), list[tuple[str, ...]]()
    following = asyncio.create_task(follow_file("MANGA_AUTH_TOKENS_FILE", lambda: read_tokens(pipe), taken.append))
    try:
        for _ in range(5):
            assert await why(source) == f"{pipe} cannot be read: it does not answer in time"
        told = "MANGA_AUTH_TOKENS_FILE: it does not answer in time; the last good version stays in use"
        await until(lambda: caplog.messages == [told], 10, "it is told once")
        waiting = [each for each in threading.enumerate() if each.name.startswith("file of ")]
        assert [each.daemon for each in waiting] == [True, True], "the end of the process waits for neither"
        pipe.rename(tmp_path / "old")
        pipe.write_text("the-new-secret")
        await asyncio.to_thread((tmp_path / "old").write_text, "the-old-secret")
        await until(lambda: ("the-new-secret",) in taken, 10, "it goes on")
        assert await source.read() == b"the-new-secret"
    finally:
        following.cancel()


async def test_oversized_flags_file_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "flags.json"
    file.write_bytes(b" " * (10 * MOST_BYTES))
    content = await FileSource(file).read()
    assert len(content) == MOST_BYTES + 1
    with pytest.raises(DocumentError):
        parse(content)


async def test_unchanged_flags_are_not_sent_again_by_etag(flags_server: FlagsServer, source: HttpSource) -> None:
    """By ETag and If-None-Match: what is the same is not sent again."""
    assert await source.read() == await source.read() == b'{"lookup_order": false}'
    flags_server.set()
    assert await source.read() == await source.read() == b"{}"
    assert flags_server.statuses == [200, 304, 200, 304]


async def test_flags_source_without_etags_is_read_each_time(flags_server: FlagsServer, source: HttpSource) -> None:
    """The AppConfig agent is such a source, and answers from its own memory."""
    flags_server.etags = False
    assert await source.read() == await source.read() == b'{"lookup_order": false}'


@pytest.mark.parametrize(
    ("mood", "told"),
    [
        (FAILING, "it answers with status 500"),
        (REDIRECTING, "it answers with status 302"),
        (PACKED, "it answers compressed, which was not asked for"),
        (CUT_OFF, "it cannot be reached (RemoteProtocolError)"),
    ],
)
async def test_unexpected_http_answer_is_reported_and_the_next_read_is_full(
    mood: str, told: str, flags_server: FlagsServer, source: HttpSource
) -> None:
    """The ETag of a body that broke off does not count."""
    flags_server.mood = mood
    assert await why(source) == told
    flags_server.mood = WELL
    assert await source.read() == b'{"lookup_order": false}'


async def test_hanging_flags_source_times_out(flags_server: FlagsServer) -> None:
    flags_server.mood = HANGING
    async with aclosing(HttpSource(flags_server.url, all_seconds=0.05)) as source:
        assert await why(source) == "it does not answer in time"


async def test_refused_connection_to_the_flags_source_is_reported_with_its_cause() -> None:
    async with aclosing(HttpSource(f"http://127.0.0.1:{free_port()}/flags")) as source:
        with pytest.raises(Unreadable, match="cannot be reached") as caught:
            await source.read()
    assert caught.value.__cause__ is not None


async def test_endless_flags_document_is_cut_and_refused(flags_server: FlagsServer, source: HttpSource) -> None:
    flags_server.content = b" " * (4 * MOST_BYTES)
    content = await source.read()
    with pytest.raises(DocumentError, match="bytes"):
        parse(content)


async def test_unknown_host_of_the_flags_source_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    async with aclosing(HttpSource("http://flags.example/flags")) as source:
        assert "cannot be reached" in await why(source)


async def test_last_good_flags_stay_in_force_through_failures(flags_server: FlagsServer, source: HttpSource) -> None:
    """Failures, wrong documents and 304s come in between."""
    flags = Flags()
    follower = Follower(source, flags, TOOLS)
    good = parse(b'{"lookup_order": false}')
    assert await follower.read_and_log()
    for mood, content in ((FAILING, b""), (WELL, b"{"), (WELL, b"{"), (CUT_OFF, b"{}")):
        flags_server.mood, flags_server.content = mood, content
        assert not await follower.read_and_log()
        assert flags.document == good
    flags_server.mood = WELL
    assert await follower.read_and_log()
    assert flags.document == parse(b"{}")


@cases(
    ("answer", "told"),
    [
        ({"Item": {"name": {"S": "x"}, "document": {"S": "{}漢"}}}, None),
        ({"ConsumedCapacity": {"TableName": "flags"}}, "the table has no such item"),
        ({"Item": {}}, "the item has no attribute document that is a text"),
        ({"Item": {"document": {"M": {}}}}, "the item has no attribute document that is a text"),
        ({"Item": {"document": {"S": None}}}, "the item has no attribute document that is a text"),
    ],
)
async def test_flags_in_dynamodb_are_read_consistently_from_the_items_document(
    answer: dict[str, Any], told: str | None
) -> None:
    async with wrong_dynamodb(lambda _: Answer.json(answer)) as server, AsyncExitStack() as stack:
        source = open_flags_source(f"dynamodb://eu-west-1/flags/x?endpoint=http://127.0.0.1:{server.port}", stack)
        if told is None:
            assert await source.read() == "{}漢".encode()
        else:
            with pytest.raises(Unreadable, match=f"^{told}$"):
                await source.read()
        (asked,) = server.requests
        assert (asked["TableName"], asked["Key"], asked["ConsistentRead"]) == ("flags", {"name": {"S": "x"}}, True)


@pytest.mark.virtual_time
async def test_flags_in_dynamodb_are_given_up_after_two_seconds_however_they_come() -> None:
    async with wrong_dynamodb(lambda _: Answer(drip=0.9, body=bytes(9))) as server, AsyncExitStack() as stack:
        source = open_flags_source(f"dynamodb://eu-west-1/flags/x?endpoint=http://127.0.0.1:{server.port}", stack)
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unreadable, match="did not answer in time"):
            await source.read()
        assert asyncio.get_running_loop().time() - began == pytest.approx(2.0, abs=0.3)
