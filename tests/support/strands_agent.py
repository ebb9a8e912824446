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
MAINS = """
import contextlib, io, json, os, sys
from infra.agent.agent import main
ended, own = [], dict(os.environ)
for words, settings in json.load(sys.stdin):
    os.environ.update(settings)
    with contextlib.redirect_stderr(io.StringIO()) as said:
        status = main(words)
    ended.append([status, said.getvalue()])
    for name in set(os.environ) - set(own):
        del os.environ[name]
print(json.dumps(ended))
"""
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


def mains_where_the_agent_runs(*runs: tuple[tuple[str, ...], dict[str, str]]) -> list[tuple[int, str]]:
    """What `python -m infra.agent.agent` ends with and says on stderr, by words and settings; all in one process, for its start
    takes seconds."""
    done = run_where_the_agent_runs("-c", MAINS, stdin=json.dumps(runs))
    assert done.returncode == 0, done.stderr
    return [(status, said) for status, said in json.loads(done.stdout.splitlines()[-1])]


class Conversations:
    """Held one after the other in one process, which takes seconds to start; another takes its place if one goes wrong."""

    def __init__(self, version: str = "locked") -> None:
        self._version = version
        self._process: subprocess.Popen[str] | None = None

    def _say(self, line: str) -> None:
        if self._process is None:
            command = [str(python_of("clients/strands")), PROGRAM]
            own, pipe = environment(self._version), subprocess.PIPE
            self._process = subprocess.Popen(command, cwd=ROOT, env=own, stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __call__(self, url: str, script: list[Any], *turns: Json, **more: Any) -> Json:
        """What came of it (see the program)."""
        with self.pausing(url, script, *turns, pause=False, **more):
            return self.outcome()

    @contextmanager
    def pausing(self, url: str, script: list[Any], *turns: Json, **more: Any) -> Iterator[Conversations]:
        """One that waits before each turn."""
        try:
            self._say(json.dumps({"url": f"{url}/sse", "script": script, "turns": turns, "pause": True, **more}))
            yield self
        except BaseException:
            self.close()
            raise

    def ready(self, word: str = "ready") -> None:
        assert self._hear() == f"{word}\n"

    def go_on(self) -> None:
        self._say("")

    def outcome(self) -> Json:
        return dict(json.loads(self._hear()))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
