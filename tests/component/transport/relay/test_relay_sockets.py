"""Messages between processes of one machine: how they are framed, and what a process does that reads or sends none."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.transport.relay.carriers import SocketRelay
from server.transport.relay.port import ProcessEnded, Unreached
from tests.support.valkey import eventually


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[tuple[SocketRelay, list[bytes]]]:
    own, heard = SocketRelay(folder), list[bytes]()
    task = asyncio.create_task(own.run(heard.append, lambda: None))
    await own.ready()
    try:
        yield own, heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await own.aclose()


async def test_folder_is_made_for_its_user_alone_and_shared_by_all_processes(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    assert SocketRelay(folder).list_processes() == set()
    async with listening(folder) as (one, _), listening(folder) as (two, _):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert one.list_processes() == {one.own, two.own}
    assert list(folder.iterdir()) == []


async def test_message_is_framed_by_four_bytes_and_a_longer_one_than_128_megabytes_ends_the_connection(
    tmp_path: Path,
) -> None:
    """Processes of two releases have to agree."""
    async with listening(tmp_path) as (own, heard):
        path = tmp_path / f"{own.own}.sock"
        longest, longest_writer = await asyncio.open_unix_connection(path)
        longest_writer.write((2**27).to_bytes(4, "big"))
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"\0\0\0\3abc\0\0\0\0\0\0\0\1d" + (2**27 + 1).to_bytes(4, "big"))
        async with asyncio.timeout(30):
            assert await reader.read() == b""
        assert (heard, longest.at_eof()) == ([b"abc", b"", b"d"], False)
        for each in (writer, longest_writer):
            each.close()


async def test_process_that_reads_nothing_is_owed_eight_megabytes_and_no_more(tmp_path: Path) -> None:
    over = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    own = SocketRelay(tmp_path)
    async with await asyncio.start_unix_server(hold, tmp_path / "other.sock", limit=1):
        await own.send("other", bytes(2**21))
        transport = own._outgoing["other"]
        await own.send("other", bytes(2**23 - transport.get_write_buffer_size() - 4))
        assert transport.get_write_buffer_size() == 2**23
        await own.send("other", b"as much as it may be")
        with pytest.raises(Unreached) as refused:
            await own.send("other", b"")
        assert not isinstance(refused.value, ProcessEnded)
        over.set()
        transport.abort()
    await own.aclose()


async def test_process_whose_socket_cannot_be_asked_has_not_ended(tmp_path: Path) -> None:
    """No path of a socket is as long as this one."""
    own, name = SocketRelay(tmp_path), "x" * 200
    with pytest.raises(Unreached) as refused:
        await own.send(name, b"")
    assert not isinstance(refused.value, ProcessEnded)
    assert await own.find_ended([name, "nobody"]) == {"nobody"}
    await own.aclose()


async def test_connections_end_with_their_process(tmp_path: Path) -> None:
    """Those that are being made too, and it hears of the next message that the other is gone."""
    async with listening(tmp_path) as (one, _), listening(tmp_path) as (two, heard):
        await one.send(two.own, b"said")
        await eventually(lambda: heard)
        dialling = asyncio.create_task(one.send("nobody", b""))
        await asyncio.sleep(0)
        known = one._outgoing[two.own]
        await one.aclose()
        await asyncio.gather(dialling, return_exceptions=True)
        assert (known.is_closing(), dialling.cancelled()) == (True, True)
