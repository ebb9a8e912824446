"""How `tools reload` reaches the server that listens on a port, and nobody else does."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.packages import packages as reload_socket
from server.packages.packages import (
    NoServer,
    PackageReport,
    ReloadReport,
    answer_reloads,
    ask_to_reload,
    socket_path,
)
from tests.support.cases import cases
from tests.support.valkey import eventually

HOST = "127.0.0.1"
FLOOD = 1000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For temporary files, in the place of the machine's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@asynccontextmanager
async def answering(port: int, what: str = "words") -> AsyncIterator[asyncio.Task[None]]:
    """A server on that port, which says what it was asked for."""

    async def reload() -> ReloadReport:
        return ReloadReport(
            [PackageReport(what, "1.0", loaded=["a", "b"]), PackageReport("c", "2.0", refused="bad", stays="1.0")]
        )

    task = asyncio.create_task(answer_reloads(HOST, port, reload))
    try:
        await eventually(lambda: task.done() or _listens(port))
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _listens(port: int) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(socket_path(HOST, port))) == 0


async def test_reload_request_returns_the_report_of_the_server() -> None:
    async with answering(1):
        report = await ask_to_reload(HOST, 1)
        assert not report.well
        assert str(report) == "words 1.0: loaded a, b\nc 2.0: refused: bad; version 1.0 stays"
        assert (await ask_to_reload(HOST, 1)) == report
    assert not socket_path(HOST, 1).exists()


async def test_report_of_many_packages_arrives_whole() -> None:
    """It comes in several pieces."""
    name = "a" * 1_000_000
    async with answering(1, name):
        assert (await ask_to_reload(HOST, 1)).packages[0].package == name


async def test_servers_are_told_apart_by_host_and_port() -> None:
    async with answering(1, "one"), answering(2, "two"):
        assert [(await ask_to_reload(HOST, port)).packages[0].package for port in (1, 2)] == ["one", "two"]
        with pytest.raises(NoServer):
            await ask_to_reload("127.0.0.2", 1)


async def test_socket_is_private_to_its_user() -> None:
    async with answering(1):
        path = socket_path(HOST, 1)
        modes = [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)]
        assert modes == [0o700, 0o600]
        assert path.parent.name == f"manga-tools-{os.getuid()}"


async def test_stale_socket_of_a_killed_server_is_replaced() -> None:
    path = socket_path(HOST, 1)
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with pytest.raises(NoServer, match=str(path)):
        await ask_to_reload(HOST, 1)
    async with answering(1, "next"):
        assert (await ask_to_reload(HOST, 1)).packages[0].package == "next"


def _somebody_elses(folder: Path) -> None:
    """Whoever is first in a folder for everybody can lay a link there."""
    (folder / "elsewhere").mkdir()
    socket_path(HOST, 1).parent.symlink_to(folder / "elsewhere")


def _a_file(folder: Path) -> None:
    socket_path(HOST, 1).parent.write_text("")


@pytest.mark.parametrize("made", [_somebody_elses, _a_file])
async def test_server_without_a_usable_socket_folder_warns_and_goes_on(
    made: Callable[[Path], None], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(folder)
    task = asyncio.create_task(answer_reloads(HOST, 1, _never))
    await eventually(lambda: bool(caplog.records))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "cannot reach this server" in caplog.text
    assert not task.done()
    assert not list(folder.glob("elsewhere/*"))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@cases("further", [-1, 1])
async def test_folder_of_another_user_is_not_trusted(
    further: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """This process becomes another user, for whom the one that it was has made a folder."""
    user = os.getuid() + further
    with monkeypatch.context() as patched:
        patched.setattr(os, "getuid", lambda: user)
        socket_path(HOST, 1).parent.mkdir(mode=0o700)
        with pytest.raises(NoServer):
            await ask_to_reload(HOST, 1)
        task = asyncio.create_task(answer_reloads(HOST, 1, _never))
        await eventually(lambda: bool(caplog.records))
        assert "belongs to somebody else" in caplog.text
        caplog.clear()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_warning_about_a_missing_socket_gives_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The error of too long a path has no number, and so no text for it."""
    deep = folder / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    task = asyncio.create_task(answer_reloads(HOST, 1, _never))
    await eventually(lambda: bool(caplog.records))
    assert "path too long" in caplog.text
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@cases("mode", [0o777, 0o577, 0o500])
async def test_socket_folder_is_made_private_and_writable(mode: int) -> None:
    socket_path(HOST, 1).parent.mkdir(exist_ok=True)
    socket_path(HOST, 1).parent.chmod(mode)
    async with answering(1):
        assert stat.S_IMODE(socket_path(HOST, 1).parent.stat().st_mode) == 0o700


async def test_silent_or_malformed_client_blocks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload_socket, "IO_SECONDS", 0.05)
    loop = asyncio.get_running_loop()
    async with answering(1) as task:
        with socket.socket(socket.AF_UNIX) as silent, socket.socket(socket.AF_UNIX) as other:
            another = socket.socket(socket.AF_UNIX)
            for client in (silent, other, another):
                client.setblocking(False)
                await loop.sock_connect(client, str(socket_path(HOST, 1)))
            await loop.sock_sendall(other, b"stop the server")
            await loop.sock_sendall(another, b"a")
            assert (await ask_to_reload(HOST, 1)).packages
            with pytest.raises(ConnectionResetError):
                await loop.sock_recv(other, 10)
            with another:
                assert await loop.sock_recv(another, 10) == b""
        assert not task.done()


async def test_socket_behind_a_symbolic_link_is_not_trusted(folder: Path) -> None:
    """In a folder that everybody may write to, anybody can have placed such a link."""
    elsewhere = folder / "elsewhere"
    async with answering(1):
        home = socket_path(HOST, 1).parent
        home.rename(elsewhere)
        home.symlink_to(elsewhere)
        with pytest.raises(NoServer):
            await ask_to_reload(HOST, 1)


MALFORMED = [b"{}", b"[]", b'{"packages": [{"name": 1}], "problem": null}', b"", b"x" * (2**20 + 2**16)]


@cases("answer", MALFORMED)
async def test_malformed_or_endless_answer_counts_as_no_server(answer: bytes) -> None:
    path, over = socket_path(HOST, 1), asyncio.Event()
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        if answer is MALFORMED[-1]:
            await over.wait()
        writer.close()

    async with await asyncio.start_unix_server(answered, path):
        with pytest.raises(NoServer):
            await ask_to_reload(HOST, 1)
        over.set()


async def test_reload_request_to_a_busy_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload_socket, "ANSWER_SECONDS", 0.05)
    task = asyncio.create_task(answer_reloads(HOST, 1, _never))
    await eventually(lambda: _listens(1))
    with pytest.raises(TimeoutError):
        await ask_to_reload(HOST, 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not socket_path(HOST, 1).exists()


async def test_concurrent_reload_requests_share_a_few_reloads() -> None:
    """Each admitted request gets a reload that began after it; the system refuses connections beyond the backlog."""
    began, go_on = 0, asyncio.Event()

    async def reload() -> ReloadReport:
        nonlocal began
        began += 1
        await go_on.wait()
        return ReloadReport([PackageReport(f"reload {began}", "1.0")])

    task = asyncio.create_task(answer_reloads(HOST, 1, reload))
    await eventually(lambda: _listens(1))
    asking = [asyncio.create_task(ask_to_reload(HOST, 1)) for _ in range(FLOOD)]
    await eventually(lambda: began == 1)
    asking.pop(0).cancel()  # who leaves takes nobody else's reload along
    go_on.set()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    reports = [each for each in answers if isinstance(each, ReloadReport)]
    assert 1 + len(reports) >= reload_socket.MOST_CLIENTS, "besides the one who left"
    assert all(isinstance(each, NoServer) for each in answers if each not in reports), "turned away at the door"
    assert began <= 2 * (FLOOD // reload_socket.MOST_CLIENTS + 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _never() -> ReloadReport:
    await asyncio.get_running_loop().create_future()
    raise AssertionError
