"""Servers as children of the tests: they die with their parent, may run as nobody, and every wait for them has a bound."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.stack.artefacts import StackError

NOBODY = 65534
POLL_SECONDS = 0.02
KILL_SECONDS = 5.0

# Runs in a fresh interpreter, then becomes the server. The wish to be killed with the parent (prctl(2), PR_SET_PDEATHSIG)
# comes after the change of user, which would take it back.
BECOME = """
import ctypes, os, signal, sys
parent, user = int(sys.argv[1]), int(sys.argv[2])
if user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != parent:
    sys.exit(1)
os.execvp(sys.argv[3], sys.argv[3:])
"""

# Linux counts the thread that started a child as its parent. This one lives as long as the interpreter.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stack")


class Child:
    """One server process, the file with what it said, and the folder it was started in."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path, folder: Path) -> None:
        self.name = name
        self.process = process
        self.log = log
        self.folder = folder

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Raises `StackError` with the end of its log when it ends before that, or is not ready in time."""
        until = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None:
                raise StackError(f"{self.name} ended with {self.process.returncode}:\n{self.last_words()}")
            if time.monotonic() > until:
                raise StackError(f"{self.name} was not ready in {seconds:g} s:\n{self.last_words()}")
            time.sleep(POLL_SECONDS)

    def last_words(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def pause(self) -> None:
        """It hangs: connections stay open and nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(KILL_SECONDS)

    def start_again(self) -> None:
        """The same command in the same folder, after the process was killed; whoever stops the child ends this one then."""
        self.process = _started(self.process.args, self.log, self.folder)

    def stop(self, seconds: float) -> None:
        if self.process.poll() is None:
            self.resume()
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
                return
            self.kill()


def _started(command: Any, log: Path, folder: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        start = _starter.submit(
            subprocess.Popen,
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,  # Ctrl-C is for the tests, which stop this child when they no longer need it
        )
        return start.result()


@contextmanager
def child(
    name: str,
    command: Sequence[str | Path],
    log: Path,
    *,
    unprivileged: bool = False,
    folder: Path | None = None,
    stop_seconds: float = 5.0,
) -> Iterator[Child]:
    """A running process that is stopped at the end, gently first, and killed by the system when this one dies."""
    user = NOBODY if unprivileged and os.geteuid() == 0 else 0
    become = [sys.executable, "-I", "-S", "-c", BECOME, str(os.getpid()), str(user), *map(str, command)]
    log.unlink(missing_ok=True)
    running = Child(name, _started(become, log, folder or log.parent), log, folder or log.parent)
    try:
        yield running
    finally:
        running.stop(stop_seconds)


@contextmanager
def temporary(name: str, *, for_nobody: bool = False) -> Iterator[Path]:
    """A folder of one server's own, gone with it."""
    with tempfile.TemporaryDirectory(prefix=f"manga-{name}-", ignore_cleanup_errors=True) as folder:
        if for_nobody and os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


@dataclass(frozen=True)
class Running:
    """A running server: where it answers and the process behind it."""

    url: str
    child: Child


def free_port(*offsets: int, low: int = 20000, high: int = 30000) -> int:
    """A port below those that the system hands out by itself, free together with the ones at the offsets from it."""
    start = int.from_bytes(os.urandom(4), "big")
    span = high - low
    for step in range(span):
        port = low + (start + step) % span
        if all(_is_free(port + offset) for offset in (0, *offsets)):
            return port
    raise StackError(f"no port is free between {low} and {high}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def answers(port: int) -> bool:
    """Somebody listens on that port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def run_until_stopped(*servers: Callable[[ExitStack], str]) -> None:
    """For the command lines: starts, says where, and waits for Ctrl-C or SIGTERM."""
    with ExitStack() as stack, suppress(KeyboardInterrupt):
        for each in (signal.SIGTERM, signal.SIGINT):  # a shell's background job starts with SIGINT ignored
            signal.signal(each, signal.default_int_handler)
        for server in servers:
            print(server(stack), flush=True)
        signal.pause()
