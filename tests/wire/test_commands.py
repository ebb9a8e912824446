"""The commands as processes: a closed stdout, a single call, and the customer's identity over stdio."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.commands.cli import BROKEN_PIPE, exit_on_broken_pipe
from server.config.settings import ROOT
from server.results import META_KEY
from tests.support.cases import cases
from tests.support.process import environment, run
from tests.support.raw import INITIALIZE, call

BOUND_SECONDS = 120
AN_ORDER = {"order_id": "MNG-DEMO1001"}


def into_a_closed_pipe(*command: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """A command whose reader left before the first byte, as `head` does after the last one that it wants."""
    reading, writing = os.pipe()
    os.close(reading)
    own = {name: value for name, value in environment().items() if name != "PYTHONUNBUFFERED"}
    try:
        return subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, env={**own, **variables}, stdout=writing,
            stderr=subprocess.PIPE, timeout=BOUND_SECONDS, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)


@pytest.mark.slow  # each command is started
@cases(
    ("command", "buffered"),
    [
        (("server", "doctor", "--json"), {}),
        (("server", "doctor"), {"PYTHONUNBUFFERED": "1"}),
        (("server", "call", "lookup_order", json.dumps(AN_ORDER), "--user", "demo-user-1"), {}),
        (("infra.seed", "--dry-run"), {"PYTHONUNBUFFERED": "1"}),
    ],
)
def test_closed_stdout_gives_the_broken_pipe_status_without_a_traceback(
    command: tuple[str, ...], buffered: dict[str, str]
) -> None:
    """It is the shell's status for a broken pipe, and stderr has no Python output."""
    done = into_a_closed_pipe(*command, **buffered)
    assert done.returncode == BROKEN_PIPE, done.stderr
    for word in (b"Traceback", b"BrokenPipe", b"Exception ignored"):
        assert word not in done.stderr


@cases("command", [("server", "--help"), ("server", "--version"), ("infra.seed", "--help")], ids=" ".join)
def test_help_into_a_closed_pipe_prints_no_error(command: tuple[str, ...]) -> None:
    done = into_a_closed_pipe(*command)
    assert (done.returncode, done.stderr) == (BROKEN_PIPE, b"")


def test_broken_pipe_of_another_connection_is_raised() -> None:
    """The reader of stdout is still there."""

    def main() -> int:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        exit_on_broken_pipe(main)


def test_call_command_answers_without_degradation_on_a_cold_cache(tmp_path: Path) -> None:
    """Search by meaning works although its vectors were never computed."""
    asked = json.dumps({"query": "dark fantasy with swords and demons", "max_results": 3})
    done = subprocess.run(
        [sys.executable, "-m", "server", "call", "search_manga_catalog", asked],
        cwd=ROOT, env=environment(embedder="local", data_dir=tmp_path), capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr.splitlines()[-1])[META_KEY]["degraded"] == []
    assert list(tmp_path.rglob("*vectors*")), "computed for the next one too"


async def order_over_stdio(*arguments: str, meta: dict[str, Any] | None = None, **settings: str) -> dict[str, Any]:
    """The result of asking for the first demo customer's order, as a host does that knows no `_meta`."""
    pipe = asyncio.subprocess.PIPE
    async with run("stdio", *arguments, stdin=pipe, stdout=pipe, **settings) as process:
        stdin, stdout = process.process.stdin, process.process.stdout
        assert stdin is not None
        assert stdout is not None
        asked = call("lookup_order", AN_ORDER, meta or {}, number=2)
        for message in (INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}, asked):
            stdin.write(json.dumps(message).encode() + b"\n")
        async with asyncio.timeout(BOUND_SECONDS):
            while (answer := json.loads(await stdout.readline())).get("id") != 2:
                pass
        stdin.close()
        assert await process.ended(30) == 0
    return dict(answer["result"]["structuredContent"])


async def test_stdio_user_is_taken_from_the_argument_unless_the_call_states_one() -> None:
    """The call's own user precedes the argument."""
    assert (await order_over_stdio())["error"]["name"] == "FORBIDDEN"
    assert (await order_over_stdio("--user", "demo-user-1"))["order_id"] == AN_ORDER["order_id"]
    assert (await order_over_stdio("--user", "demo-user-2"))["error"]["name"] == "NOT_FOUND"
    stated = {"com.mangaassist/userId": "demo-user-2"}
    assert (await order_over_stdio("--user", "demo-user-1", meta=stated))["error"]["name"] == "NOT_FOUND"


@cases(("name", "instead"), [("user", "stdio --user"), ("max_body_bytes", "262144")])
async def test_removed_setting_is_refused_with_its_replacement(name: str, instead: str) -> None:
    async with run("tools", **{name: "demo-user-1"}) as process:
        assert await process.ended(BOUND_SECONDS) == 2
        assert process.lines[-1].startswith(f"manga-tools: MANGA_{name.upper()}: it is no setting any more")
        assert instead in process.lines[-1]


async def test_oversized_user_argument_is_refused() -> None:
    async with run("stdio", "--user", "u" * 256) as process:
        assert await process.ended(BOUND_SECONDS) == 2
        assert process.lines[-1] == "manga-tools: --user: may have at most 255 characters"
