"""Conversations of `StoreTools` in the environments of the agent: the locked Strands, and the one before it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.environments import folder_of, python_of
from tests.support.serving import ROOT

PROGRAM = "tests/wire/clients/agent_conversation.py"
BEFORE = "clients/strands-before"
BOUND_SECONDS = 120
Json = dict[str, Any]


def environment(version: str = "locked", **more: str) -> dict[str, str]:
    """Without AWS settings but the given ones. The version before lies on top of the locked one, whose packages it shares."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    if version == "before":
        (packages,) = folder_of(BEFORE).glob("lib/python*/site-packages")
        own["PYTHONPATH"] = str(packages)
    return {**own, **more}


def run_where_the_agent_runs(*words: str, stdin: str = "", **aws: str) -> subprocess.CompletedProcess[str]:
    """By the Python of its own environment, in the project's folder."""
    command = [str(python_of("clients/strands")), *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment(**aws), input=stdin, capture_output=True, text=True, timeout=BOUND_SECONDS
    )


def converse(url: str, script: list[Any], *turns: Json, version: str = "locked", **more: Any) -> Json:
    """What came of it (see the program)."""
    asked = json.dumps({"script": script, "turns": turns, **more})
    command = [str(python_of("clients/strands")), PROGRAM, f"{url}/sse"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(version),
        input=asked + "\n",
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


class Paused:
    """A conversation that waits before each turn."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ready(self, word: str = "ready") -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == f"{word}\n"

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def outcome(self) -> Json:
        assert self._process.stdout is not None
        return dict(json.loads(self._process.stdout.readline()))


@contextmanager
def pausing(url: str, script: list[Any], *turns: Json, **more: Any) -> Iterator[Paused]:
    command = [str(python_of("clients/strands")), PROGRAM, f"{url}/sse"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"script": script, "turns": turns, "pause": True, **more}) + "\n")
        process.stdin.flush()
        yield Paused(process)
    finally:
        process.kill()
        process.wait(BOUND_SECONDS)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
