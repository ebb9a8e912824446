"""A server of one's own, as a process: started on a free port, spoken to over real sockets, and never left behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.support.forking import heed_signals

ROOT = Path(__file__).resolve().parents[2]
LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")
START_SECONDS = 45.0
LEAKS = re.compile(
    r"Traceback|File \"|site-packages|\.py\b|/(?:home|root|tmp|usr|work|var)/|"
    r"\b[A-Za-z]*(?:Error|Exception)\b(?<!_ERROR)(?<!INTERNAL_ERROR)|hiredis|sqlite|pydantic|jsonschema|uvicorn|starlette|asyncio",
)
"""What no answer may contain: the inside of a server is nobody's business."""


def environment(**settings: object) -> dict[str, str]:
    """This process's own, with no MANGA_ setting but those given; words alone, so that a start takes a second."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MANGA_")}
    defaults = {"MANGA_PORT": "0", "MANGA_EMBEDDER": "none", "MANGA_LOG_TOOL_CALLS": "off"}
    if "data_dir" in settings:
        own["XDG_CACHE_HOME"] = str(settings.pop("data_dir"))
    return own | defaults | {f"MANGA_{name.upper()}": str(value) for name, value in settings.items()}


async def until(condition: Callable[[], bool] | Callable[[], Awaitable[bool]], seconds: float, what: str) -> None:
    """Polls until the condition holds. Fails, saying what did not come about, after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        holds = condition()
        if not isinstance(holds, bool):
            holds = await holds
        if holds:
            return
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid: int) -> list[int]:
    """Pids of all children, theirs included. A process that ends while one looks has none."""
    found: list[int] = []
    for child in _children(pid):
        found += [child, *descendants(child)]
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):  # the process ends
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread of it ends
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Process:
    """A command of the server, with all that it writes to stderr kept."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self._heard = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())
        self.port = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _read(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            async with self._heard:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self._heard.notify_all()
        async with self._heard:
            self._heard.notify_all()

    async def said(self, pattern: re.Pattern[str], seconds: float = START_SECONDS) -> re.Match[str]:
        """Waits for a line of stderr. Fails when the process ends first."""
        async with asyncio.timeout(seconds), self._heard:
            while True:
                for line in self.lines:
                    if found := pattern.search(line):
                        return found
                assert not self._reading.done(), f"ended without saying {pattern.pattern}:\n{self.log}"
                await self._heard.wait()

    async def ended(self, seconds: float) -> int:
        """Waits for the end, and for the last line of stderr."""
        async with asyncio.timeout(seconds):
            code = await self.process.wait()
            await self._reading
        return code

    def signal(self, number: signal.Signals) -> None:
        """Not by the process object, which would look whether it has ended, and take the status that asyncio waits for."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def valkey(self) -> int:
        """Pid of the embedded Valkey."""
        found = [pid for pid in descendants(self.pid) if "valkey" in command_of(pid)]
        assert found, "no Valkey among the children"
        return found[0]

    def memory_bytes(self) -> int:
        """Resident set size."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        for pid in descendants(self.pid):
            with suppress(ProcessLookupError):  # it ends with its parent, perhaps just now
                os.kill(pid, signal.SIGKILL)
        await self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)


@asynccontextmanager
async def run(
    *command: str,
    program: Sequence[str] = (sys.executable, "-m", "server"),
    stdin: int | None = asyncio.subprocess.DEVNULL,
    stdout: int | None = asyncio.subprocess.DEVNULL,
    variables: Mapping[str, str] | None = None,
    tree: Path = ROOT,
    **settings: object,
) -> AsyncIterator[Process]:
    """`python -m server COMMAND`, or another program, in a process group of its own. Killed at the end if it still runs.
    `variables` are those of its environment that are none of its settings; `tree` is where its code is."""
    process = await asyncio.create_subprocess_exec(
        *program,
        *command,
        cwd=tree,
        env=environment(**settings) | dict(variables or {}),
        stdin=stdin,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_signals,
        limit=2**22,
    )
    own = Process(process)
    try:
        yield own
    finally:
        await own.stop()


@asynccontextmanager
async def serving(
    *, variables: Mapping[str, str] | None = None, tree: Path = ROOT, **settings: object
) -> AsyncIterator[Process]:
    """A server that listens on a free port."""
    async with run("serve", variables=variables, tree=tree, **settings) as process:
        process.port = int((await process.said(LISTENING)).group(1))
        yield process
