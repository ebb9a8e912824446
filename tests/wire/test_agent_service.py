"""The agent as a service beside a real server: answers, identity, an unreachable server, shutdown."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent_service import BOUND_SECONDS, Json, Service, service
from tests.support.cases import cases
from tests.support.losing_proxy import Loss, losing
from tests.support.ports import free_port
from tests.support.serving import Serving, served, start
from tests.support.strands_agent import mains_where_the_agent_runs, run_where_the_agent_runs

AT = {"X-Session-ID": "c"}


@pytest.fixture(scope="module")
def agent(server: Serving) -> Iterator[Service]:
    with service(f"{server.url}/sse") as started:
        started.connected()
        yield started


def tools(answer: Json) -> list[str]:
    assert answer["outcome"] == "answered", answer
    return [each["tool"] for each in answer["calls"]]


def test_each_question_is_answered_with_the_right_tools(agent: Service) -> None:
    assert tools(agent.chat("dark fantasy with swords and demons")) == ["search_manga_catalog", "check_inventory"]
    assert tools(agent.chat("can you recommend something funny?")) == ["get_recommendations"]
    assert tools(agent.chat("where is my order mng-demo1001?")) == ["lookup_order"]


def test_order_is_found_for_its_owner_only(agent: Service) -> None:
    """All customers share one connection, and a question without a customer is anonymous."""
    assert agent.chat("MNG-DEMO1001?", "mine")["answer"].startswith("Here is what I found: MNG-DEMO1001 (delivered)")
    for stranger in ("demo-user-2", None):
        answer = agent.chat("MNG-DEMO1001?", f"of-{stranger}", stranger)
        assert answer["calls"][0]["outcome"] != "success"
        assert answer["answer"].startswith("I could not look that up: ")


def test_each_turn_has_an_id_of_its_own(agent: Service) -> None:
    turns = [agent.chat("MNG-DEMO1001?", "ids")["turn"] for _ in range(2)]
    assert turns[0] != turns[1]
    assert {turn.partition(".")[0] for turn in turns} == {"ids"}


def test_concurrent_questions_of_one_conversation_are_both_answered(agent: Service) -> None:
    """They are answered in turn, as an agent does one turn at a time."""
    answers: list[Json] = []
    asking = [threading.Thread(target=lambda: answers.append(agent.answer("MNG-DEMO1001?", "both"))) for _ in range(2)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(BOUND_SECONDS)
    assert [tools(each) for each in answers] == [["lookup_order"]] * 2
    assert len({each["turn"] for each in answers}) == 2


def test_conversation_continues_in_another_process(server: Serving, agent: Service) -> None:
    """The second process has no memory of the first turn: the server tells it the titles shown."""
    session = "survivor"
    with service(f"{server.url}/sse") as first:
        first.connected()
        shown = first.chat("dark fantasy with swords and demons", session)["answer"]
        first.process.kill()
    second_title = shown.split("; ")[1].partition(" (")[0]
    answer = agent.chat("is the second one in stock?", session)
    stranger = agent.chat("is the second one in stock?", session, "demo-user-2")
    assert tools(answer) == ["check_inventory"]
    assert re.fullmatch(rf"Here is what I found: {re.escape(second_title)} \(¥\d+, .+\)\.", answer["answer"])
    assert second_title not in stranger["answer"]


@cases(
    ("headers", "body", "status", "said"),
    [
        (AT, b"{", 400, "not a JSON object"),
        (AT, b"[]", 400, "not a JSON object"),
        (AT, b"{}", 400, "text"),
        ({}, b'{"text": "m"}', 400, "X-Session-ID"),
        ({"X-Session-ID": "a b"}, b'{"text": "m"}', 400, "X-Session-ID"),
        (AT, b'{"text": "m", "user": "demo-user-1"}', 400, "'user' is not known here"),
        (AT, b'{"text": " "}', 400, "1 to 2000"),
        (AT, b'{"text": "\\ud800"}', 400, "half a character"),
        (AT, b'"' + b"x" * 20_000 + b'"', 413, "16384"),
    ],
    ids=["broken", "list", "no text", "no session", "odd session", "a user", "empty", "half a character", "large"],
)
def test_malformed_question_is_refused(agent: Service, headers: dict[str, str], body: bytes, status: int, said: str) -> None:
    answered, refusal = agent.ask("POST", "/turns", body, headers)
    assert answered == status
    assert refusal["error"]["name"] == "VALIDATION_ERROR"
    assert said in refusal["error"]["message"]


def test_door_route_is_missing_without_its_secret(agent: Service) -> None:
    status, _ = agent.ask("POST", "/door", b'{"text": "m"}', {"X-Door-Secret": "", "X-Door-Connection": "c"})
    assert status == 404


def test_agent_without_the_store_says_so_and_stays_up() -> None:
    with service(f"http://127.0.0.1:{free_port()}/sse") as alone:
        alone.until(lambda health: bool(health == {"status": "ok", "store": "away", "open_turns": 0}))
        answer = alone.chat("MNG-DEMO1001?")
        assert (answer["outcome"], answer["calls"]) == ("store_away", [])
        assert "our shelves" in answer["answer"]


@cases(("loss", "streams"), [(503, 1), (413, 1), (404, 2), (401, 2), ("reset", 2)])
def test_lost_message_to_the_store_costs_its_own_call_a_second_try(server: Serving, loss: Loss, streams: int) -> None:
    """The call is told at once, and other calls go on, over a new stream if the store does not know the old one any more."""
    with losing(server.port) as proxy, service(f"http://127.0.0.1:{proxy.port}/sse") as agent:
        agent.connected()
        proxy.losses[:] = [loss]
        assert tools(agent.chat("MNG-DEMO1001?", "lost")) == ["lookup_order"]
        assert proxy.losses == []
        assert tools(agent.chat("MNG-DEMO1001?", "after")) == ["lookup_order"]
        assert proxy.streams == streams


ENDED_WRITER = """
import threading
import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest
from infra.agent.store import _Writer
async def main():
    send, receive = anyio.create_memory_object_stream(1)
    ended = threading.Event()
    writer = _Writer(send, ended)
    deep = []
    for _ in range(2000):
        deep = [deep]
    for arguments, noticed in ((deep, False), ({}, True)):
        try:
            await writer.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="m", params={"a": arguments})))
        except (ValueError, anyio.BrokenResourceError):
            assert ended.is_set() is noticed
        else:
            raise AssertionError
        receive.close()
anyio.run(main)
"""


def test_writer_that_has_ended_ends_the_connection() -> None:
    """What cannot be written does not reach it."""
    done = run_where_the_agent_runs("-c", ENDED_WRITER)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow  # a store hangs: twelve seconds
def test_hanging_or_restarted_store_is_detected_and_used_again(tmp_path: Path, cache: Path) -> None:
    """The first turn after its return has tools over a new connection; no turn exceeds its time."""
    port = str(free_port())
    with service(f"http://127.0.0.1:{port}/sse") as agent:
        first = start(tmp_path / "first", cache, MANGA_PORT=port)
        try:
            agent.connected()
            assert tools(agent.chat("MNG-DEMO1001?")) == ["lookup_order"]
            os.kill(first.pid, signal.SIGSTOP)
            assert agent.chat("MNG-DEMO1001?")["outcome"] == "store_away"
            os.kill(first.pid, signal.SIGCONT)
            agent.connected()
            assert tools(agent.chat("MNG-DEMO1001?")) == ["lookup_order"]
        finally:
            first.kill()
        agent.until(lambda health: bool(health["store"] == "away"))
        assert agent.chat("MNG-DEMO1001?")["outcome"] == "store_away"
        with served(tmp_path / "second", cache, MANGA_PORT=port):
            agent.connected()
            assert tools(agent.chat("MNG-DEMO1001?")) == ["lookup_order"]


def test_open_turns_are_answered_on_sigterm(server: Serving) -> None:
    """SIGTERM comes while three customers wait: each gets its full answer, and the exit status is 0."""
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
    assert all("MNG-DEMO1001 (delivered)" in each["answer"] for each in answers)


def test_wrong_setting_stops_the_start_with_one_line() -> None:
    """One case runs in a process of its own."""
    wrong: list[tuple[dict[str, str], tuple[str, ...], str]] = [
        ({}, ("--host", "0.0.0.0"), "AGENT_JWT_ISSUER"),
        ({"AGENT_JWT_ISSUER": "https://i"}, (), "all three, or none"),
        ({"AGENT_DOOR_SECRET": "s"}, (), "AGENT_CALLBACK_URL"),
        ({"AGENT_DOOR_SECRET": "s", "AGENT_CALLBACK_URL": "ftp://x"}, (), "lambda:NAME"),
        ({"AGENT_TURN_CALLS": "many"}, (), "AGENT_TURN_CALLS"),
        ({"AGENT_TEMPERATURE": "3"}, ("--bedrock",), "AGENT_TEMPERATURE"),
    ]
    done = run_where_the_agent_runs("-m", "infra.agent.agent", "--serve", *wrong[0][1])
    others = mains_where_the_agent_runs(*((("--serve", *words), settings) for settings, words, _ in wrong[1:]))
    for (*_, said), (status, told) in zip(wrong, [(done.returncode, done.stderr), *others], strict=True):
        assert status == 2, said
        assert len(told.splitlines()) == 1, told
        assert said in told


def test_japanese_question_is_answered_in_japanese(agent: Service) -> None:
    assert agent.chat("注文 MNG-DEMO1001 はどこですか", "ja")["answer"].startswith(
        "見つかったのは次のとおりです。MNG-DEMO1001"
    )


MANY_CONVERSATIONS = """
from infra.agent.answering import MOST_CONVERSATIONS, Answering
answering = Answering(None, None, 1000)
kept = answering._conversation("first", "modest")
for number in range(MOST_CONVERSATIONS + 5):
    answering._conversation(f"greedy-{number}", "greedy")
assert answering._conversation("first", "modest") is kept
second = answering._conversation("second", "modest")
answering._conversation("another", "somebody")
assert answering._conversation("first", "modest") is kept
assert answering._conversation("second", "modest") is second
for number in range(MOST_CONVERSATIONS):
    answering._conversation(f"anonymous-{number}", None)
assert answering._conversation("first", "modest") is not kept
assert len(answering._conversations) == MOST_CONVERSATIONS
"""


def test_customer_with_many_conversations_loses_the_own_ones_first() -> None:
    done = run_where_the_agent_runs("-c", MANY_CONVERSATIONS)
    assert done.returncode == 0, done.stderr
