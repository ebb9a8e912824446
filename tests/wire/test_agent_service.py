"""The example agent as a service beside a real server: its answers, what it says when the server is away, and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent_service import BOUND_SECONDS, Json, Service, free_port, service
from tests.support.cases import cases
from tests.support.environments import python_of
from tests.support.serving import ROOT, Serving, served, start


@pytest.fixture(scope="module")
def agent(server: Serving) -> Iterator[Service]:
    with service(f"{server.url}/sse") as started:
        started.connected()
        yield started


# In the agent's own environment: what a conversation keeps of many turns, and which conversations are kept.
KEPT = """
import json
from infra.agent.conversations import MOST_MESSAGES, Conversation, Conversations

def turn(number):
    use = {"toolUse": {"name": "t", "toolUseId": str(number), "input": {}}}
    result = {"toolResult": {"toolUseId": str(number), "status": "success", "content": [{"text": "{}"}]}}
    said = [("user", {"text": f"q{number}"}), ("assistant", use), ("user", result), ("assistant", {"text": "a"})]
    return [{"role": role, "content": [block]} for role, block in said]

one = Conversation("c")
one.went_on([message for number in range(50) for message in turn(number)][:-2])
known = Conversations(2)
first = known.of("first")
first.said("q", "a")
for name in ("second", "first", "third"):
    known.of(name)
print(json.dumps([len(one.messages) <= MOST_MESSAGES, one.messages[0], len(known.of("first").messages), known.of("second").turns]))
"""


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


def test_two_questions_at_once_in_one_conversation_are_both_answered(agent: Service) -> None:
    """One after the other: an agent is in one turn at a time."""
    answers: list[Json] = []
    asking = [threading.Thread(target=lambda: answers.append(agent.answer("MNG-DEMO1001?", "both"))) for _ in range(2)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(BOUND_SECONDS)
    assert [tools(each) for each in answers] == [["lookup_order"]] * 2
    assert len({each["turn"] for each in answers}) == 2


def test_a_long_conversation_keeps_its_end_and_begins_where_a_customer_speaks() -> None:
    """And of the conversations, those that were heard of last."""
    python = str(python_of("clients/strands"))
    done = subprocess.run([python, "-c", KEPT], cwd=ROOT, capture_output=True, text=True, timeout=BOUND_SECONDS, check=True)
    short, first, kept, forgotten = json.loads(done.stdout)
    assert short
    assert first == {"role": "user", "content": [{"text": "q40"}]}
    assert (kept, forgotten) == (2, 0)


@cases(
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
