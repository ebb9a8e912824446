"""A server as its users run it: `python -m server serve` in a process of its own, on a port that was free."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.support.stack import stack_settings

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 45.0
MEANING_SECONDS = 180.0
"""Vectors are computed by as many threads as there are processors: on a busy machine that takes many times the idle one's."""
STOP_SECONDS = 15.0
POLL_SECONDS = 0.02
LISTENING = re.compile(r"listening on (http://\S+)")
WAYS_IN = (
    ("GET", "/sse"),
    ("POST", "/messages/?session_id=00000000000000000000000000000000"),
    ("GET", "/mcp"),
    ("POST", "/mcp"),
    ("DELETE", "/mcp"),
    ("DELETE", "/sessions/any"),
)
"""Every method and path that leads to a tool or to what is remembered."""


def clean_environment(cache: Path, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without any MANGA_ setting of whoever runs the tests, and then `settings`.

    With MANGA_TEST_STACK=1 those of the real OpenSearch, DynamoDB and Redis come between the two."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MANGA_")}
    return {**own, "XDG_CACHE_HOME": str(cache), **stack_settings(), **(settings or {})}


@dataclass(slots=True)
class Serving:
    """A server that runs. `log` is everything that it has written to stderr so far."""

    url: str
    process: subprocess.Popen[bytes]
    log_path: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def log(self) -> str:
        return self.log_path.read_text("utf-8", "replace")

    def stop(self, seconds: float = STOP_SECONDS) -> int:
        """SIGTERM, and the exit status; a server that does not end in time is killed, which is an error."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not end within {seconds} s of SIGTERM\n{self.log[-4000:]}") from None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_SECONDS)


def start(folder: Path, cache: Path, *, tree: Path = ROOT, **settings: str) -> Serving:
    """A server with these settings, once it answers. `folder` takes its log; `tree` is where its code is.

    It ends with the thread that started it (`--with-parent`), so start it from one that stays: the main one.
    """
    given = {"MANGA_PORT": "0", "MANGA_RATE_LIMIT": "off", **settings}
    folder.mkdir(parents=True, exist_ok=True)
    log_path = folder / "server.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "server", "serve", "--with-parent"],
            cwd=tree,
            env=clean_environment(cache, given),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    serving = Serving("", process, log_path, given)
    try:
        serving.url = _wait_until_it_answers(serving)
    except BaseException:
        serving.kill()
        raise
    return serving


@contextmanager
def served(folder: Path, cache: Path, *, tree: Path = ROOT, **settings: str) -> Iterator[Serving]:
    """`start`, and at the end SIGTERM, after which the exit status has to be 0."""
    serving = start(folder, cache, tree=tree, **settings)
    try:
        yield serving
    except BaseException:
        serving.kill()
        raise
    status = serving.stop()
    assert status == 0, f"the server ended with {status}\n{serving.log[-4000:]}"


def wait_for_meaning(serving: Serving) -> None:
    """A new catalogue's vectors are computed after the start; until then searches go by words alone and say so."""
    give_up = time.monotonic() + MEANING_SECONDS
    while time.monotonic() < give_up:
        with urlopen(f"{serving.url}/readyz", timeout=30) as response:
            catalog = json.load(response)["dependencies"]["catalog"]
        if "meaning" in catalog.get("detail", ""):
            return
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"no vectors within {MEANING_SECONDS} s\n{serving.log}")


def _wait_until_it_answers(serving: Serving) -> str:
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        if serving.process.poll() is not None:
            raise AssertionError(f"the server ended with {serving.process.returncode} at its start\n{serving.log}")
        if (found := LISTENING.search(serving.log)) and _answers(found[1]):
            return found[1]
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"the server did not answer within {START_SECONDS} s\n{serving.log}")


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/healthz", timeout=1) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        return False
