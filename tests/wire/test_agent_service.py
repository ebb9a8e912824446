"""The example agent as a service beside a real server: its answers, what it says when the server is away, and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import python_of
from tests.support.serving import ROOT, Serving, served, start

BOUND_SECONDS = 60
PROMISED_SECONDS = 3.0
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


@pytest.fixture(scope="module")
def agent(server: Serving) -> Iterator[Service]:
    with service(f"{server.url}/sse") as started:
        started.connected()
        yield started


def tools(answer: Json) -> list[str]:
    assert answer["outcome"] == "answered", answer
    return [each["tool"] for each in answer["calls"]]


def test_each_question_gets_its_tools(agent: Service) -> None:
    assert tools(agent.chat("dark fantasy with swords and demons")) == ["search_manga_catalog", "check_inventory"]
    assert tools(agent.chat("can you recommend something funny?")) == ["get_recommendations"]
    assert tools(agent.chat("where is my order mng-demo1001?")) == ["lookup_order"]


def test_an_order_is_found_for_its_owner_only(agent: Service) -> None:
    """All customers share one connection; nobody stated is nobody."""
    assert agent.chat("MNG-DEMO1001?", "mine")["answer"].startswith("Order MNG-DEMO1001 is")
    for stranger in ("demo-user-2", None):
        answer = agent.chat("MNG-DEMO1001?", f"of-{stranger}", stranger)
        assert answer["calls"][0]["outcome"] != "success"
        assert answer["answer"].startswith("I could not look that up: ")


def test_each_turn_has_an_id_of_its_own(agent: Service) -> None:
    turns = [agent.chat("MNG-DEMO1001?", "ids")["turn"] for _ in range(2)]
    assert [turn.rpartition("-")[0] for turn in turns] == ["ids.1", "ids.2"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 400, "no object"),
        (b'{"conversation": "c"}', 400, "message"),
        (b'{"conversation": "a b", "message": "m"}', 400, "conversation"),
        (b'{"conversation": "c", "message": "m", "user": 1}', 400, "user"),
        (b'"' + b"x" * 20_000 + b'"', 413, "16384"),
    ],
    ids=["broken", "list", "no message", "odd name", "odd user", "large"],
)
def test_what_is_no_question_is_refused(agent: Service, body: bytes, status: int, said: str) -> None:
    answered, refusal = agent.ask("POST", "/chat", body)
    assert answered == status
    assert said in refusal["error"]


def test_without_the_store_it_says_so_and_lives() -> None:
    with service(f"http://127.0.0.1:{free_port()}/sse") as alone:
        alone.until(lambda health: bool(health == {"status": "ok", "store": "away", "open_turns": 0}))
        answer = alone.chat("MNG-DEMO1001?")
        assert (answer["outcome"], answer["calls"]) == ("store_away", [])
        assert "our shelves" in answer["answer"]


def test_a_store_that_hangs_crashes_or_comes_back_is_noticed(tmp_path: Path, cache: Path) -> None:
    """The first turn after it is back has its tools again, over a new connection; no turn takes longer than promised."""
    port = str(free_port())
    with service(f"http://127.0.0.1:{port}/sse") as agent:
        first = start(tmp_path / "first", cache, MANGA_PORT=port)
        try:
            agent.connected()
            assert tools(agent.chat("MNG-DEMO1001?")) == ["lookup_order"]
            os.kill(first.pid, signal.SIGSTOP)
            assert agent.chat("MNG-DEMO1001?")["outcome"] == "late"
            os.kill(first.pid, signal.SIGCONT)
            assert tools(agent.chat("MNG-DEMO1001?")) == ["lookup_order"]
        finally:
            first.kill()
        agent.until(lambda health: bool(health["store"] == "away"))
        assert agent.chat("MNG-DEMO1001?")["outcome"] == "store_away"
        with served(tmp_path / "second", cache, MANGA_PORT=port):
            agent.connected()
            assert tools(agent.chat("MNG-DEMO1001?")) == ["lookup_order"]


def test_open_turns_are_answered_at_its_end(server: Serving) -> None:
    """SIGTERM while three customers wait: each gets the answer that it would have got. Exit status 0."""
    answers: list[Json] = []
    with service(f"{server.url}/sse", "--thinking-ms", "400", "--patience-ms", "20000") as agent:
        agent.connected()
        asking = [
            threading.Thread(target=lambda each=each: answers.append(agent.answer("MNG-DEMO1001?", f"end-{each}")))
            for each in range(3)
        ]
        for thread in asking:
            thread.start()
        agent.until(lambda health: bool(health["open_turns"] == 3))
        agent.process.terminate()
        for thread in asking:
            thread.join(BOUND_SECONDS)
        assert agent.process.wait(BOUND_SECONDS) == 0
    assert [tools(each) for each in answers] == [["lookup_order"]] * 3
    assert all(re.match("Order MNG-DEMO1001 is", each["answer"]) for each in answers)
