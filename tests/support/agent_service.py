"""The agent as a service, in a process and an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import IO, Any

from tests.support.environments import python_of
from tests.support.ports import free_port
from tests.support.serving import ROOT

BOUND_SECONDS = 60
PROMISED_SECONDS = 3.0
"""In which every question is answered, whatever the store and the model do."""
Json = dict[str, Any]


class Service:
    """The agent as a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Json]:
        """One that is not answered in events."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=BOUND_SECONDS)) as connection:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")

    def chat(self, message: str, session: str = "c", user: str | None = "demo-user-1") -> Json:
        """An answer in time, as promised."""
        answer = self.answer(message, session, user)
        assert answer["took_ms"] < PROMISED_SECONDS * 1000, answer
        return answer

    def answer(
        self, message: str, session: str, user: str | None = "demo-user-1", headers: Mapping[str, str] | None = None
    ) -> Json:
        """The whole answer, what `done` said, when each event came, and how long all of it took at this end."""
        about = {"X-Session-ID": session, **({"X-User-ID": user} if user else {}), **(headers or {})}
        began = time.monotonic()
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=BOUND_SECONDS)) as connection:
            connection.request("POST", "/turns", json.dumps({"text": message}).encode(), about)
            return told(connection.getresponse(), began)

    def until(self, met: Callable[[Json], bool]) -> None:
        """Waits for a state of health."""
        deadline = time.monotonic() + BOUND_SECONDS
        while time.monotonic() < deadline:
            try:
                if met(self.ask("GET", "/healthz")[1]):
                    return
            except OSError:
                assert self.process.poll() is None
            time.sleep(0.05)
        raise AssertionError("it never came to that")

    def connected(self) -> None:
        self.until(lambda health: bool(health["store"] == "connected"))


def told(response: HTTPResponse, began: float) -> Json:
    """A turn, out of its events."""
    assert response.status == 200, response.read()
    assert response.headers.get_content_type() == "text/event-stream"
    events: list[tuple[str, Json]] = []
    at_ms, kind = [], ""
    for line in response:
        if line.startswith(b"event: "):
            kind = line.decode().strip().removeprefix("event: ")
            at_ms.append(round((time.monotonic() - began) * 1000))
        elif line.startswith(b"data: "):
            events.append((kind, json.loads(line.removeprefix(b"data: "))))
    kinds = [each for each, _ in events]
    assert kinds == ["words"] * (len(kinds) - 1) + ["done"], events
    words = [data["text"] for _, data in events[:-1]]
    took = round((time.monotonic() - began) * 1000)
    return {**events[-1][1], "answer": "".join(words), "words": words, "at_ms": at_ms, "took_ms": took}


@contextmanager
def service(
    url: str, *words: str, environment: Mapping[str, str] | None = None, log: IO[bytes] | None = None
) -> Iterator[Service]:
    """`environment` is what it has beside this process's, without AGENT_ settings of whoever runs the tests; stderr goes to `log`."""
    port = free_port()
    command = [str(python_of("clients/strands")), "-m", "infra.agent.agent", "--serve", "--url", url, "--port", str(port)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_")}
    process = subprocess.Popen([*command, *words], cwd=ROOT, env={**own, **(environment or {})}, stderr=log)
    try:
        yield Service(process, port)
    finally:
        process.kill()
        process.wait(BOUND_SECONDS)
