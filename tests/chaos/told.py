"""What processes tell, a JSON object a line: the server into a file, its clients on stdout."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.process import until

Json = dict[str, Any]
ANSWER_SECONDS = 30.0


@dataclass(slots=True)
class Lines:
    """What a process has told so far, a JSON object a line."""

    read: list[Json] = field(default_factory=list)

    def of(self, kind: str, since: int = 0) -> list[Json]:
        return [each for each in self.read[since:] if each["kind"] == kind]


class Tail(Lines):
    """A file that grows."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        path.touch()
        self.file = path.open("rb")
        self._rest = b""

    def catch_up(self) -> None:
        *whole, self._rest = (self._rest + self.file.read()).split(b"\n")
        self.read += [json.loads(line) for line in whole]


class Clients(Lines):
    """The process of `tests.chaos.clients`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self.process = process
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.read.append(json.loads(line))

    async def ask(self, command: str, answer: str | None = None, seconds: float = ANSWER_SECONDS) -> None:
        """Sends a command, and waits for its answer where it has one."""
        assert self.process.stdin is not None
        since = len(self.read)
        self.process.stdin.write(command.encode() + b"\n")
        if answer is not None:
            await self.heard(answer, since, seconds)

    async def heard(self, kind: str, since: int, seconds: float) -> None:
        await until(lambda: bool(self.of(kind, since)), seconds, f"the clients' {kind!r}")
