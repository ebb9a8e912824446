"""`make run`: whatever ends it, nothing of it is left; and what it tells whoever started it.

GNU make restores the signal's own action after its recipe has ended and sends it to itself, so a signal that reaches make
is what make dies of, however well the server ended: 130 and 143 in a shell. Only what reaches the server alone lets make
end with 0.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.process import LISTENING, Process, alive, command_of, descendants, run, until

END_SECONDS = 30.0
"""That it ends at all: how soon is promised, and measured, in tests/chaos/test_lifecycle_endings.py."""

pytestmark = pytest.mark.skipif(shutil.which("make") is None or sys.platform != "linux", reason="needs make, and /proc")


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """This interpreter's environment as one that make takes for installed: nothing is installed again."""
    folder = tmp_path / "venv"
    folder.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (folder / name).symlink_to(Path(sys.prefix) / name)
    for stamp in (".created", ".runtime", ".dev"):
        (folder / stamp).touch()
    return folder


@asynccontextmanager
async def make_run(venv: Path) -> AsyncIterator[tuple[Process, int]]:
    """`make run` and the pid of its server, which serves."""
    async with run("run", f"VENV={venv}", program=("make",), turn_budget_ms=1000) as make:
        await make.said(LISTENING)
        (server,) = [pid for pid in descendants(make.pid) if "-m server serve" in command_of(pid)]
        yield make, server


async def nothing_left(pids: list[int]) -> None:
    assert len(pids) == 2, "a server and its Valkey"
    await until(lambda: not any(alive(pid) for pid in pids), END_SECONDS, "server and Valkey gone")


@pytest.mark.parametrize("ours", [signal.SIG_DFL, signal.SIG_IGN], ids=["in the foreground", "in the background"])
async def test_ctrl_c_ends_everything(venv: Path, ours: signal.Handlers) -> None:
    """A terminal sends SIGINT to the whole group: the server ends gently, and make reports the signal as is its way. However
    these tests themselves were started: a shell's background job ignores SIGINT, and would have its children ignore it."""
    before = signal.signal(signal.SIGINT, ours)
    try:
        await _ends_on_ctrl_c(venv)
    finally:
        signal.signal(signal.SIGINT, before)


async def _ends_on_ctrl_c(venv: Path) -> None:
    async with make_run(venv) as (make, _):
        pids = descendants(make.pid)
        os.killpg(make.pid, signal.SIGINT)
        assert await make.ended(END_SECONDS) == -signal.SIGINT
        await nothing_left(pids)
        assert "server.commands.serve stopped" in make.log
        assert "Traceback" not in make.log


@pytest.mark.parametrize("group", [True, False], ids=["to the group", "to make alone"])
async def test_sigterm_ends_everything(venv: Path, group: bool) -> None:
    """make passes it on and waits: the group's own and the one passed on are one to the server, which ends gently."""
    async with make_run(venv) as (make, _):
        pids = descendants(make.pid)
        if group:
            os.killpg(make.pid, signal.SIGTERM)
        else:
            make.signal(signal.SIGTERM)
        assert await make.ended(END_SECONDS) == -signal.SIGTERM
        await nothing_left(pids)
        assert "server.commands.serve stopped" in make.log


async def test_make_ends_with_0_when_its_server_is_told_to_stop(venv: Path) -> None:
    """The server's exit status is 0, and make has nothing to add."""
    async with make_run(venv) as (make, server):
        pids = descendants(make.pid)
        os.kill(server, signal.SIGTERM)
        assert await make.ended(END_SECONDS) == 0
        await nothing_left(pids)


async def test_make_that_is_killed_leaves_neither_server_nor_valkey(venv: Path) -> None:
    """SIGKILL of make cannot be passed on: the server hears of it from the kernel and ends gently."""
    async with make_run(venv) as (make, _):
        pids = descendants(make.pid)
        make.signal(signal.SIGKILL)
        assert await make.ended(END_SECONDS) == -signal.SIGKILL
        await nothing_left(pids)
        assert "server.commands.serve stopped" in make.log
