"""`StoreTools`, the plugin for agents made with Strands, over real servers and with the last two releases of Strands."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import after_all, blocks
from tests.support.environments import python_of
from tests.support.ports import free_port
from tests.support.serving import ROOT, Serving, served, start
from tests.support.strands_agent import Conversations, environment, run_where_the_agent_runs

PREFIX = "com.mangaassist/"
USER = "demo-user-1"
ORDER = ["lookup_order", {"order_id": "MNG-DEMO1001"}]
SEARCH = ["search_manga_catalog", {"query": "berserk", "max_results": 3}]
STOCK = ["check_inventory", {}]
DONE = None
Json = dict[str, Any]


@pytest.fixture(scope="module", params=["locked", "before"])
def converse(request: pytest.FixtureRequest) -> Iterator[Conversations]:
    own = Conversations(request.param)
    yield own
    own.close()


@pytest.fixture(scope="module")
def talks() -> Iterator[Conversations]:
    own = Conversations()
    yield own
    own.close()


def turn(session: str, user: str | None = USER, **more: Any) -> Json:
    return {"session": session, "user": user, **more}


def stated(said: Json, key: str) -> list[Any]:
    return [each.get(PREFIX + key) for each in said["stated"]]


def texts_of(asked: Json) -> str:
    """All that the model was shown of the conversation."""
    return "\n".join(json.dumps(each["content"], ensure_ascii=False) for each in asked["messages"])


def test_each_call_states_session_user_turn_and_falling_budget(server: Serving, converse: Conversations) -> None:
    """Each turn has its own id; expected calls, time and tokens fall within it."""
    script = [[SEARCH], [STOCK], DONE, [ORDER], DONE]
    two = turn("st-1", steps=2, tokens=3000), turn("st-1", steps=2, tokens=3000)
    said = converse(server.url, script, *two)
    assert stated(said, "sessionId") == ["st-1"] * 3
    assert stated(said, "userId") == [USER] * 3
    assert stated(said, "expectedCalls") == [2, 1, 2]
    first, second, other = stated(said, "turnId")
    assert first == second != other
    left = stated(said, "turnBudgetMs")
    assert 2900 >= left[0] >= left[1] > 0
    tokens = stated(said, "tokenBudget")
    assert tokens[0] == tokens[2] == 3000 > tokens[1]
    budgets = [each["metadata"][PREFIX + "call"]["budget"] for each in said["results"]]
    assert [each["turnId"] for each in budgets] == [first, first, other]
    assert budgets[0]["remainingMs"] > budgets[1]["remainingMs"]


def test_each_call_of_one_connection_has_its_own_user(server: Serving, converse: Conversations) -> None:
    """Two customers use one client: the order is found for its owner only."""
    script = [[ORDER], DONE, [ORDER], DONE]
    said = converse(server.url, script, turn("st-a"), turn("st-b", "demo-user-2"))
    mine, foreign = said["results"]
    assert mine["structuredContent"]["order_id"] == "MNG-DEMO1001"
    assert foreign["structuredContent"]["error"]["name"] == "NOT_FOUND"
    assert "Do not repeat this call" in foreign["content"][-1]["text"]


def test_model_has_the_tools_and_the_rules_of_the_store(server: Serving, converse: Conversations) -> None:
    """They are neither the agent's own words nor only the instructions that every client gets."""
    said = converse(server.url, [DONE], turn("st-2"))
    assert {each["name"] for each in said["asked"][0]["tools"]} > {"search_manga_catalog", "lookup_order"}
    assert said["asked"][0]["system"].startswith("You are the shopping assistant of MangaAssist")
    assert "manga://policies/returns" in said["asked"][0]["system"]


def test_model_can_load_a_skill_of_the_server(server: Serving, converse: Conversations) -> None:
    """It gets the server's text with its origin, which is no call of the turn; other skills are described only."""
    script = [[["load_skill", {"name": "orders"}], ["load_skill", {"name": "fishing"}]], [ORDER], DONE]
    said = converse(server.url, script, turn("st-skill", calls=1))
    (offered,) = [each for each in said["asked"][0]["tools"] if each["name"] == "load_skill"]
    assert "gifts-and-children: Manga as a gift" in offered["description"]
    assert "Orders and late parcels" not in json.dumps(said["asked"][0])
    loaded = texts_of(said["asked"][1])
    assert f'<skill name=\\"orders\\" server=\\"{server.url}/sse\\">' in loaded
    assert "# Orders and late parcels" in loaded
    assert "There is no such skill. There are: selling" in loaded
    assert said["turns"][0]["made"] == [{"tool": "lookup_order", "outcome": "success"}]


def test_agent_without_skills_offers_no_load_skill_tool(server: Serving, converse: Conversations) -> None:
    said = converse(server.url, [DONE], turn("st-none", skills=False))
    assert "load_skill" not in {each["name"] for each in said["asked"][0]["tools"]}


def test_turn_ends_when_its_calls_are_used_up(server: Serving, converse: Conversations) -> None:
    """The model is told once; if it asks for more it is not asked again, and the customer gets the known results."""
    said = converse(server.url, [[SEARCH], [STOCK], [ORDER], [STOCK], [STOCK], DONE], turn("st-3", calls=3))
    assert len(said["stated"]) == 3
    assert "No more calls in this turn" in texts_of(said["asked"][4])
    assert len(said["asked"]) == 5
    (answer,) = said["answers"]
    assert "Berserk" in answer
    assert "MNG-DEMO1001" in answer


def test_step_with_more_calls_than_are_left_is_answered_by_the_model(server: Serving, converse: Conversations) -> None:
    """The step's calls within the limit are made, and the model hears of the others once."""
    said = converse(server.url, [[SEARCH, STOCK, ORDER, STOCK, ORDER], "Both."], turn("st-12", calls=3))
    assert said["answers"] == ["Both."]
    assert len(said["stated"]) == 3
    assert texts_of(said["asked"][1]).count("No more calls in this turn") == 2


def test_calls_of_one_step_are_sent_together(server: Serving, converse: Conversations) -> None:
    """None is sent before all are ready; together they count as one step."""
    said = converse(server.url, [[ORDER, SEARCH], DONE], turn("st-4", steps=1), together=2)
    assert stated(said, "expectedCalls") == [1, 1]
    assert [each["outcome"] for each in said["turns"][0]["made"]] == ["success"] * 2


def test_rate_limited_call_is_retried_once_after_the_stated_delay(limited: Serving, converse: Conversations) -> None:
    """The model sees only the answer to the retry. The call counts as ten, so that it is a second before it may be made."""
    long = [["classify_genre", {"text": "pirates and " * 100}]]
    user = f"asks-too-often-{uuid.uuid4().hex}"
    said = converse(limited.url, [long, DONE], turn("st-5", user, seconds=30), drain=user)
    assert [each["status"] for each in said["results"]] == ["error", "success"]
    assert said["results"][0]["structuredContent"]["error"]["name"] == "RATE_LIMITED"
    assert said["turns"][0]["made"] == [{"tool": "classify_genre", "outcome": "success"}]
    assert "RATE_LIMITED" not in texts_of(said["asked"][1])


def test_validation_error_goes_to_the_model_without_a_retry(server: Serving, converse: Conversations) -> None:
    """The model reads the error and its remedy, and may call the tool again."""
    wrong = ["get_recommendations", {"criteria": "funny", "count": 12}]
    said = converse(server.url, [[wrong], DONE], turn("st-6"))
    (result,) = said["results"]
    assert len(result["content"]) == 1
    assert '"path":"$.count"' in result["content"][0]["text"]


def test_arguments_that_no_server_takes_are_refused_in_words(server: Serving, converse: Conversations) -> None:
    """The connection stays: the next turn's call is answered."""
    deep: list[Any] = []
    for _ in range(60):
        deep = [deep]
    unsendable = ["half \ud83d", float("nan"), deep, list(range(2000)), "x" * 300_000]
    steps = [step for each in unsendable for step in ([["search_manga_catalog", {"query": each}]], DONE)]
    said = converse(server.url, [*steps, [ORDER], DONE], *[turn("st-13")] * (len(unsendable) + 1))
    *refused, answered = said["results"]
    assert [each["structuredContent"]["error"]["name"] for each in refused] == ["VALIDATION_ERROR"] * len(unsendable)
    assert [each["content"][0]["text"].partition(":")[0] for each in refused] == [
        "Arguments are JSON in UTF-8, without half a character, NaN or Infinity",
        "Arguments are JSON in UTF-8, without half a character, NaN or Infinity",
        "Arguments hold at most 1000 values, nested at most 32 deep",
        "Arguments hold at most 1000 values, nested at most 32 deep",
        "Arguments have at most 200000 bytes",
    ]
    assert answered["structuredContent"]["order_id"] == "MNG-DEMO1001"


WITH_LITTLE_TIME = """
import asyncio
from infra.agent.store_tools import A_CALL_MS, StoreTools, Turn
async def repeats(**data):
    tools = StoreTools("http://127.0.0.1:1/sse")
    tools.turn = Turn("s", None, budget_ms=A_CALL_MS - 1)
    return await tools._is_worth_a_try("use-1", {"name": "TIMEOUT", "data": {"retryable": True, **data}})
assert asyncio.run(repeats(fallback_available=True))
assert not asyncio.run(repeats(fallback_available=False))
assert not asyncio.run(repeats(fallback_available=True, retry_after_ms=A_CALL_MS))
"""


def test_call_with_little_time_left_is_repeated_only_for_a_fallback() -> None:
    """A fallback takes less time than a call, but not less than the error asks to wait."""
    done = run_where_the_agent_runs("-c", WITH_LITTLE_TIME)
    assert done.returncode == 0, done.stderr


def test_new_agent_is_told_by_the_server_what_was_shown(server: Serving, converse: Conversations) -> None:
    """An agent without memory gets it with the question; of a turn only the words of both sides are kept."""
    script = [[SEARCH], DONE, DONE]
    said = converse(server.url, script, turn("st-7", says="berserk?"), turn("st-7", says="the first one?", fresh=True))
    (blocks_of_question,) = [each["content"] for each in said["asked"][-1]["messages"]]
    earlier, question = (each["text"] for each in blocks_of_question)
    assert re.search(r"1\. manga-002001 Berserk", earlier)
    assert question == "the first one?"
    assert [each["kept"] for each in said["turns"]] == [2, 2]


def test_answer_after_the_time_limit_is_made_of_the_results(server: Serving, converse: Conversations) -> None:
    """The model hangs once the results are there."""
    said = converse(server.url, [[SEARCH], "hang"], turn("st-8", says="berserk?", seconds=2.5))
    assert said["answers"][0].startswith("What I know so far: Berserk (¥693")


def test_lost_stream_is_reconnected_between_turns(talks: Conversations, tmp_path: Path, cache: Path) -> None:
    """Between two turns the server is replaced by another one at its address, which the agent finds by itself."""
    port = str(free_port())
    first = start(tmp_path / "first", cache, MANGA_PORT=port, MANGA_EMBEDDER="none")
    try:
        with talks.pausing(first.url, [[ORDER], DONE, [ORDER], DONE], turn("st-9"), turn("st-9")) as talk:
            talk.ready()
            talk.go_on()
            talk.ready()
            first.kill()
            with served(tmp_path / "second", cache, MANGA_PORT=port, MANGA_EMBEDDER="none"):
                talk.go_on()
                said = talk.outcome()
    finally:
        first.kill()
    assert [each["made"] for each in said["turns"]] == [[{"tool": "lookup_order", "outcome": "success"}]] * 2


def test_call_whose_stream_was_lost_is_repeated(talks: Conversations, tmp_path: Path, cache: Path) -> None:
    """The server hangs during the call and ends; the next one at its address answers the same call."""
    port = str(free_port())
    first = start(tmp_path / "first", cache, MANGA_PORT=port, MANGA_EMBEDDER="none")
    try:
        with talks.pausing(first.url, [[ORDER], DONE], turn("st-11", seconds=30.0), tell=True) as talk:
            talk.ready()
            os.kill(first.pid, signal.SIGSTOP)
            talk.go_on()
            talk.ready("calling")
            first.kill()
            with served(tmp_path / "second", cache, MANGA_PORT=port, MANGA_EMBEDDER="none"):
                talk.ready("calling")
                said = talk.outcome()
    finally:
        first.kill()
    assert [each["status"] for each in said["results"]] == ["error", "success"]
    assert said["turns"][0]["made"] == [{"tool": "lookup_order", "outcome": "success"}]


def test_changed_tool_list_is_followed_in_the_next_turn(talks: Conversations, tmp_path: Path, cache: Path) -> None:
    """A tool switched on between two turns is in the next one's tools and rules."""
    flags = tmp_path / "flags.json"
    flags.write_text("{}", "utf-8")
    with served(tmp_path / "server", cache, MANGA_FLAGS_URL=flags.as_uri(), MANGA_EMBEDDER="none") as server:
        turns = [turn("st-10") for _ in range(200)]
        with talks.pausing(server.url, [], *turns) as talk:
            talk.ready()
            flags.write_text(json.dumps({"enable_price_comparison_tool": True}), "utf-8")
            for _ in turns[1:]:
                talk.go_on()
                talk.ready()
            talk.go_on()
            said = talk.outcome()
    assert "compare_prices" not in [each["name"] for each in said["asked"][0]["tools"]]
    assert "compare_prices" in [each["name"] for each in said["asked"][-1]["tools"]]


def test_agent_of_the_guide_has_at_most_ten_lines_and_works(server: Serving) -> None:
    """It is the guide's code, with a scripted model in the place of the reader's."""
    (shown,) = (each for each in blocks("python", after_all("agent")) if "StoreTools" in each)
    assert len(shown.strip().splitlines()) <= 10
    model = "from infra.agent.by_words import ModelByWords\n"
    code = model + shown.replace("http://127.0.0.1:8080", server.url).replace("Agent(", "Agent(ModelByWords(), ")
    code += "print(answer)"
    python = str(python_of("clients/strands"))
    done = subprocess.run([python, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Berserk" in done.stdout


def test_agent_without_a_store_says_so() -> None:
    port = free_port()
    code = f"from strands import Agent; from infra.agent.store_tools import StoreTools; Agent(plugins=[StoreTools('http://127.0.0.1:{port}/sse')])"
    python = str(python_of("clients/strands"))
    done = subprocess.run(
        [python, "-c", code], cwd=ROOT, env={**os.environ, **environment()}, capture_output=True, text=True, timeout=60
    )
    assert "no store answers at" in done.stderr.splitlines()[-1]
