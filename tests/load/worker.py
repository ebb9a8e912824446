"""A process that takes commands as JSON lines on stdin and answers each with a line on stdout. Ends with its stdin."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self


class Worker:
    """A command is a method's name with keyword arguments; what it returns goes back."""

    @classmethod
    def main(cls) -> int:
        asyncio.run(cls._work())
        return 0

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator[Self]:
        """What the worker holds while it works; the default holds nothing."""
        yield cls()

    @classmethod
    async def _work(cls) -> None:
        async with cls.opened() as worker:
            print(json.dumps({"ready": True}), flush=True)
            while line := await asyncio.to_thread(sys.stdin.readline):
                command = json.loads(line)
                answer = await getattr(worker, command.pop("do"))(**command)
                print(json.dumps(answer), flush=True)
