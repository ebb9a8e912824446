"""The agent's service with a Bedrock model, over boto3 and AWS's event streams, answers in time whatever the model does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPResponse

import pytest

from infra.agent.options import CORE, MAX_TOKENS, MODEL
from tests.support.agent_service import BOUND_SECONDS, Json, Service, service
from tests.support.cases import cases
from tests.support.converse import Converse, Mood, Step, by_words, conversing
from tests.support.serving import Serving
from tests.support.strands_agent import environment as where_the_agent_runs

ORDER = "where is my order MNG-DEMO1001?"
KNOWN = "MNG-DEMO1001 (delivered)"
IN_TIME = ("--patience-ms", "2600")
"""With some time to spare, for a machine that does other things as well."""
FIRST_MS = 1000
"""In which a customer hears the first words."""


@pytest.fixture(scope="module")
def model() -> Iterator[Converse]:
    with conversing() as own:
        yield own


@pytest.fixture(scope="module")
def agent(server: Serving, model: Converse) -> Iterator[Service]:
    environment = {**model.environment, "AGENT_TEMPERATURE": "0.2", "AGENT_MAX_TOKENS": "400"}
    with service(f"{server.url}/sse", "--bedrock", *IN_TIME, environment=environment) as started:
        started.connected()
        yield started


@pytest.fixture(autouse=True)
def well(model: Converse) -> None:
    model.brain, model.moods, model.thinks, model.pace = by_words, [], lambda: 0.0, 0.0
    model.asked.clear()


def test_model_settings_and_cache_points_reach_bedrock(agent: Service, model: Converse) -> None:
    """The model is a Claude; rules and tools are cached, and a turn's results are cached for its next step."""
    agent.chat(ORDER, "settings")
    first, second = model.asked
    assert set(model.models) == {MODEL}
    assert "claude" in MODEL
    assert first["inferenceConfig"] == {"temperature": 0.2, "maxTokens": 400}
    for body in (first, second):
        assert body["system"][-1] == body["toolConfig"]["tools"][-1] == {"cachePoint": {"type": "default"}}
        assert body["messages"][-1]["content"][-1] == {"cachePoint": {"type": "default"}}


def test_answer_is_streamed_as_the_model_produces_it(agent: Service, model: Converse) -> None:
    model.brain, model.pace = lambda _: Step("one two three four five six seven eight"), 0.05
    answer = agent.chat("count", "stream")
    assert answer["answer"] == "one two three four five six seven eight"
    assert len(answer["words"]) == 8
    assert answer["at_ms"][-1] - answer["at_ms"][0] > 200


def test_half_a_character_of_the_model_is_replaced(agent: Service, model: Converse) -> None:
    model.brain = lambda _: Step("half \ud83d of it")
    assert agent.chat("say it", "half")["answer"] == "half \N{REPLACEMENT CHARACTER} of it"


def test_tool_calls_of_one_step_run_together(agent: Service, model: Converse) -> None:
    uses = [("lookup_order", {"order_id": "MNG-DEMO1001"}), ("get_ratings", {"title_ids": ["manga-002001"]})]
    model.brain = lambda body: Step("Done.") if has_results(body) else Step("Let me look.", uses)
    answer = agent.chat("both", "together")
    assert answer["answer"] == "Let me look. Done."
    assert sorted(each["tool"] for each in answer["calls"]) == ["get_ratings", "lookup_order"]
    assert len(model.asked) == 2


@cases(
    ("moods", "outcome", "said"),
    [
        (["throttles"], "answered", KNOWN),
        (["well", "throttles"], "answered", KNOWN),
        (["hangs"], "answered", KNOWN),
        (["well", "hangs", "hangs"], "late", f"What I know so far: {KNOWN}"),
        (["hangs", "hangs"], "late", "took me too long"),
        (["breaks off"], "answered", KNOWN),
        (["well", "breaks off"], "model_away", f"… What I know so far: {KNOWN}"),
        (["well", "throttles", "throttles"], "model_away", f"What I know so far: {KNOWN}"),
        (["refuses"], "model_away", "I cannot think clearly"),
        (["malformed"], "answered", "MNG-DEMO1002"),
    ],
)
def test_failing_model_is_retried_once_or_replaced_by_known_results(
    agent: Service, model: Converse, moods: list[Mood], outcome: str, said: str
) -> None:
    """First words come within a second, all within three; known results are told, as the store still works."""
    model.moods[:] = moods
    answer = agent.chat(ORDER, f"moods-{'-'.join(moods)}".replace(" ", "_"))
    assert answer["outcome"] == outcome, answer
    assert said in answer["answer"], answer
    assert answer["at_ms"][0] < FIRST_MS, answer


def test_slow_model_is_bridged_by_a_waiting_message(agent: Service, model: Converse) -> None:
    model.thinks = lambda: 0.9
    answer = agent.chat(ORDER, "slow")
    assert answer["words"][0] == "One moment, I am looking."
    assert KNOWN in answer["answer"]
    assert answer["spent"]["model"] >= 1800 > answer["spent"]["ours"] + answer["spent"]["tools"]


def test_conversation_continues_in_another_process(server: Serving, agent: Service, model: Converse) -> None:
    """The model gets the titles shown before, with the server's own numbers."""
    shown = agent.chat("dark fantasy with swords and demons", "bedrock-survivor")["answer"]
    second_title = shown.split("; ")[1].partition(" (")[0]
    with service(f"{server.url}/sse", "--bedrock", environment=model.environment | {"AGENT_TOOLS": "core"}) as other:
        other.connected()
        model.asked.clear()
        answer = other.chat("is the second one in stock?", "bedrock-survivor")
    (asked,) = model.asked[0]["messages"]
    offered = [each["toolSpec"]["name"] for each in model.asked[0]["toolConfig"]["tools"][:-1]]
    assert sorted(offered) == sorted(CORE)
    assert f" {second_title} " in asked["content"][0]["text"]
    assert answer["answer"].startswith(f"Here is what I found: {second_title} (")
    assert [each["outcome"] for each in answer["calls"]] == ["success"]


def test_tool_results_of_earlier_turns_are_not_sent_to_the_model_again(agent: Service, model: Converse) -> None:
    """The model gets the words of both sides, and what is relevant to the question."""
    agent.chat("dark fantasy with swords and demons", "trimmed")
    agent.chat("can you recommend something funny?", "trimmed")
    model.asked.clear()
    agent.chat(ORDER, "trimmed")
    assert "toolResult" not in json.dumps(model.asked[0]["messages"])
    assert [each["role"] for each in model.asked[0]["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert "dark fantasy" in json.dumps(model.asked[0]["messages"][-1])


def test_rules_and_tools_are_the_same_bytes_in_every_turn_and_process(
    server: Serving, agent: Service, model: Converse
) -> None:
    """The model's cache goes by them."""
    agent.chat(ORDER, "bytes")
    agent.chat("can you recommend something funny?", "bytes")
    with service(f"{server.url}/sse", "--bedrock", environment=model.environment) as other:
        other.connected()
        other.chat(ORDER, "bytes")
    assert len(model.asked) == 6
    for part in ("system", "toolConfig"):
        assert len({json.dumps(body[part]) for body in model.asked}) == 1


def test_questions_that_wait_in_a_conversation_hold_one_place(server: Serving, model: Converse) -> None:
    """A hundred questions of ten conversations are open, and others are still answered; an eleventh of one is refused."""
    model.moods[:] = ["hangs"] * 10
    patient = {**model.environment, "AGENT_MODEL_SILENCE_MS": "60000"}
    with (
        service(f"{server.url}/sse", "--bedrock", "--patience-ms", "60000", environment=patient) as agent,
        ExitStack() as sockets,
    ):
        agent.connected()

        def asked(session: str) -> HTTPResponse:
            connection = sockets.enter_context(closing(HTTPConnection("127.0.0.1", agent.port, timeout=BOUND_SECONDS)))
            connection.request("POST", "/turns", b'{"text": "berserk?"}', {"X-Session-ID": session})
            return connection.getresponse()

        assert [asked(f"crowd-{number % 10}").status for number in range(100)] == [200] * 100
        refused = asked("crowd-0")
        assert (refused.status, json.load(refused)["error"]["name"]) == (429, "RATE_LIMITED")
        agent.until(lambda _: len(model.asked) == 10)
        assert agent.answer(ORDER, "a-neighbour")["outcome"] == "answered"


@cases("version", ["locked", "before"])
def test_stream_is_read_no_longer_than_its_customer_listens(server: Serving, model: Converse, version: str) -> None:
    """The model would say words for a quarter of an hour to one whose time is over, and to one who hangs up."""
    model.brain, model.pace = lambda _: Step("word " * 100_000), 0.01
    environment = {**where_the_agent_runs(version), **model.environment}
    with service(f"{server.url}/sse", "--bedrock", *IN_TIME, environment=environment) as agent:
        agent.connected()
        assert agent.chat("tell me all", "late")["outcome"] == "late"
        agent.until(lambda _: model.streaming == 0)
        assert model.asked[-1]["inferenceConfig"] == {"maxTokens": MAX_TOKENS}
        with closing(HTTPConnection("127.0.0.1", agent.port, timeout=BOUND_SECONDS)) as leaving:
            leaving.request("POST", "/turns", b'{"text": "tell me all"}', {"X-Session-ID": "left"})
            assert leaving.getresponse().readline() == b"event: words\n"
            assert model.streaming == 1
        agent.until(lambda health: health["open_turns"] == model.streaming == 0)


def has_results(body: Json) -> bool:
    return any("toolResult" in block for block in body["messages"][-1]["content"])
