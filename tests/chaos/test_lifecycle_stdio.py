"""How a server on stdio ends: on signals, and at the end of its input."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from tests.chaos.test_lifecycle_endings import SEARCH
from tests.support.process import Process, alive, run, until
from tests.support.raw import INITIALIZE, call

END_SECONDS = 30.0
"""That it ends at all: how soon is promised, and measured, in tests/chaos/test_lifecycle_endings.py."""


async def answer_on_stdio(process: Process, request: dict[str, object]) -> dict[str, object]:
    assert process.process.stdin is not None
    assert process.process.stdout is not None
    process.process.stdin.write(json.dumps(request).encode() + b"\n")
    await process.process.stdin.drain()
    async with asyncio.timeout(30):
        while True:
            answer = json.loads(await process.process.stdout.readline())
            if answer.get("id") == request["id"]:
                return answer


@pytest.mark.parametrize("how", ["EOF", "SIGTERM", "SIGINT"])
async def test_stdio_ends_with_exit_status_0(how: str) -> None:
    """At the end of its input and on a signal; stdout holds nothing but JSON lines, and Valkey is gone."""
    pipe = asyncio.subprocess.PIPE
    async with run("stdio", stdin=pipe, stdout=pipe) as process:
        assert process.process.stdin is not None
        assert process.process.stdout is not None
        await answer_on_stdio(process, INITIALIZE)
        result = (await answer_on_stdio(process, call(SEARCH, {"query": "berserk"}, number=2)))["result"]
        assert isinstance(result, dict)
        assert not result["isError"]
        valkey = process.valkey()
        if how == "EOF":
            process.process.stdin.close()
        else:
            process.signal(signal.Signals[how])
        assert await process.ended(END_SECONDS) == 0, process.log
        assert await process.process.stdout.read() == b""
        assert "Traceback" not in process.log
        await until(lambda: not alive(valkey), END_SECONDS, "Valkey gone")


async def test_stdio_answers_what_was_asked_before_the_end_of_its_input() -> None:
    """A client that writes its calls and closes its end still gets every answer."""
    pipe = asyncio.subprocess.PIPE
    async with run("stdio", stdin=pipe, stdout=pipe) as process:
        assert process.process.stdin is not None
        assert process.process.stdout is not None
        await answer_on_stdio(process, INITIALIZE)
        calls = [call(SEARCH, {"query": f"berserk {number}"}, number=number) for number in range(1, 6)]
        process.process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in calls))
        process.process.stdin.close()
        async with asyncio.timeout(END_SECONDS):
            lines = (await process.process.stdout.read()).splitlines()
        answers = [json.loads(line) for line in lines]
        assert sorted(each["id"] for each in answers) == [1, 2, 3, 4, 5]
        assert all("result" in each for each in answers), answers
        assert await process.ended(END_SECONDS) == 0
