"""The example agent as a service, in a process and an environment of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import Any

from tests.support.environments import python_of
from tests.support.serving import ROOT

BOUND_SECONDS = 60
PROMISED_SECONDS = 3.0
"""In which every question is answered, whatever the store does."""
Json = dict[str, Any]


class Service:
    """The agent as a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Json]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=BOUND_SECONDS)) as connection:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def chat(self, message: str, conversation: str = "c", user: str | None = "demo-user-1") -> Json:
        """An answer in time, as promised."""
        answer = self.answer(message, conversation, user)
        assert answer["took_ms"] < PROMISED_SECONDS * 1000
        return answer

    def answer(self, message: str, conversation: str, user: str | None = "demo-user-1") -> Json:
        posted = json.dumps({"conversation": conversation, "message": message, "user": user}).encode()
        status, answer = self.ask("POST", "/chat", posted)
        assert status == 200, answer
        return answer

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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def service(url: str, *words: str) -> Iterator[Service]:
    port = free_port()
    command = [str(python_of("clients/strands")), "-m", "infra.agent.agent", "--serve", "--url", url, "--port", str(port)]
    process = subprocess.Popen([*command, *words], cwd=ROOT, env=dict(os.environ))
    try:
        yield Service(process, port)
    finally:
        process.kill()
        process.wait(BOUND_SECONDS)
