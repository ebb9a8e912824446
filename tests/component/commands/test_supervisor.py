"""The supervisor handles workers that do not start, start too late, or have no folder to start in."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from session.redis import embedded
from session.redis.embedded import Valkey
from tests.support.process import ROOT, until

PATIENCE = 30.0
SCRIPT = """
import errno, logging, os, signal, socket, sys, time
from server.commands.workers import supervisor

{before}

def work(number, end):
    print(number, flush=True)
    {inside}
    end.send_report(takes=True, connections=0)
    signal.pause()
    return 0

logging.basicConfig()
listener = socket.create_server(("127.0.0.1", 0))
sys.exit(supervisor.Supervisor(2, listener, work, 0.2, lambda: print("opened", flush=True)).run())
"""
NO_PROCESS_LEFT = """
fork, failures = os.fork, iter([True, False, True, True])
def failing():
    if next(failures, False):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    return fork()
os.fork = failing
"""
# The second says nothing the first time.
HANGS = "if number == 2 and not os.path.exists(sys.argv[1]):\n        open(sys.argv[1], 'w').close(); signal.pause()"
READY = "end.send_report(takes=True, connections=0)"
# It reports once more, and takes a moment to end, as one that is answering.
STOPPED_MEANWHILE = f"signal.signal(signal.SIGTERM, lambda *_: {READY} or time.sleep(0.1) or os._exit(0))"


class Supervised:
    """A supervisor in a process of its own, in whose words `said` waits."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdout is not None
        self.stdout = process.stdout

    async def said(self, *lines: str) -> None:
        async with asyncio.timeout(PATIENCE):
            for line in lines:
                assert (await self.stdout.readline()).decode().strip() == line

    async def ended(self) -> tuple[int | None, str, str]:
        async with asyncio.timeout(PATIENCE):
            out, errors = await self.process.communicate()
        return self.process.returncode, out.decode(), errors.decode()


async def supervised(tmp_path: Path, before: str = "", inside: str = "pass") -> Supervised:
    script = SCRIPT.format(before=before, inside=inside)
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-c", script, str(tmp_path / "once")]
    return Supervised(await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe, stderr=pipe))


async def test_supervisor_retries_while_no_process_can_be_started(tmp_path: Path) -> None:
    """The first start fails, then the second twice; the other worker serves meanwhile."""
    own = await supervised(tmp_path, NO_PROCESS_LEFT)
    await own.said("1", "opened", "2")
    own.process.send_signal(signal.SIGTERM)
    status, _, errors = await own.ended()
    assert (status, errors.count("cannot be started: Resource temporarily unavailable")) == (0, 3)
    assert "Traceback" not in errors


async def test_worker_that_never_becomes_ready_is_replaced_and_reported_once(tmp_path: Path) -> None:
    """One line reports it, however long its end takes."""
    own = await supervised(tmp_path, "supervisor.START_SECONDS = 3.0", HANGS)
    await own.said("1", "opened", "2", "2")
    own.process.send_signal(signal.SIGTERM)
    status, _, errors = await own.ended()
    assert (status, errors.count("worker 2 has said nothing")) == (0, 1)


async def test_worker_that_becomes_ready_during_shutdown_starts_no_other(tmp_path: Path) -> None:
    own = await supervised(tmp_path, inside=f"{STOPPED_MEANWHILE}; print('ready', flush=True); signal.pause()")
    await own.said("1", "ready")
    own.process.send_signal(signal.SIGTERM)
    assert (await own.ended())[:2] == (0, "")


async def test_valkey_that_keeps_dying_is_restarted_with_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder may have been removed, for example; the supervisor must not be busy with it."""
    launched: list[subprocess.Popen[bytes]] = []

    class Counted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(["false"], **options)  # type: ignore[call-overload]
            launched.append(self)

    monkeypatch.setattr(embedded.subprocess, "Popen", Counted)
    valkey = Valkey(tmp_path)

    def thrice() -> bool:
        valkey.restart_if_dead()
        return len(launched) == 3

    began = asyncio.get_running_loop().time()
    await until(thrice, PATIENCE, "it is tried a third time")
    assert asyncio.get_running_loop().time() - began >= 0.5
    for each in launched:
        each.wait(PATIENCE)
