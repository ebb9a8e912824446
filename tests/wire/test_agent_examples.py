"""Agents without Strands over a real server: with OpenAI Agents, and with plain HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from infra.agent.examples import json_rpc
from infra.agent.words import sentence
from tests.support.bedrock import on_loopback
from tests.support.documents import after_all, blocks
from tests.support.environments import python_of
from tests.support.loop_thread import Held, LoopThread
from tests.support.serving import ROOT, Serving, served
from tests.support.strands_agent import environment

EXAMPLES = ROOT / "infra/agent/examples"
USER = "demo-user-1"
SEARCH = ["search_manga_catalog", {"query": "berserk", "max_results": 3}]
ORDER = ["lookup_order", {"order_id": "MNG-DEMO1001"}]
STOCK = ["check_inventory", {}]
BOUND_SECONDS = 60
NAMESPACED = """
import json, sys
from strands.tools.mcp import MCPClient

def flat(result):
    return "".join(block["text"] for block in result["content"] if "text" in block)

(client,) = MCPClient.load_servers(json.load(sys.stdin))
with client:
    names = [each.tool_name for each in client.list_tools_sync()]
    asked = [client.call_tool_sync("use", "lookup_order", {"order_id": each}) for each in ("MNG-DEMO1001", "MNG-DEMO9999")]
print(json.dumps([names, *map(flat, asked)]))
"""
Said = tuple[list[str], str]
Talk = Callable[[str, list[Any], list[list[str]]], Said]
"""The answers, and all that the model was shown."""


@pytest.fixture(scope="module")
def openai_agents() -> Iterator[Talk]:
    """In one process, which takes seconds to start."""
    command = [str(python_of("clients/openai-agents")), "tests/wire/clients/openai_agents_turns.py"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def with_openai_agents(url: str, script: list[Any], turns: list[list[str]]) -> Said:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"url": url, "script": script, "turns": turns}) + "\n")
            process.stdin.flush()
            said = json.loads(process.stdout.readline())
            return said["answers"], json.dumps(said["asked"], ensure_ascii=False)

        yield with_openai_agents
    assert process.returncode == 0


def with_json_rpc(url: str, script: list[Any], turns: list[list[str]]) -> Said:
    steps, shown = iter(script), []

    async def think(messages: list[Any], tools: list[Any]) -> Any:
        shown.append(json.dumps([messages, tools], ensure_ascii=False))
        step = next(steps)
        if step == "hang":
            await asyncio.Event().wait()
        return step

    async def talk() -> list[str]:
        return [await json_rpc.answer(url, think, *turn) for turn in turns]

    return asyncio.run(talk()), "\n".join(shown)


@pytest.fixture(params=["openai-agents", "json-rpc"])
def talk(request: pytest.FixtureRequest) -> Talk:
    return request.getfixturevalue("openai_agents") if request.param == "openai-agents" else with_json_rpc


def test_example_agent_answers_a_turn_with_the_stores_tools(talk: Talk, server: Serving) -> None:
    """Calls of one step are sent together, with the store's rules and in the customer's name."""
    answers, shown = talk(server.url, [[SEARCH, ORDER], "Both are there."], [["ex-1", USER, "?"]])
    assert answers == ["Both are there."]
    assert "You are the shopping assistant of MangaAssist" in shown
    assert "MNG-DEMO1001" in shown


def test_later_turn_of_an_example_agent_knows_what_was_shown(talk: Talk, server: Serving) -> None:
    session = f"ex-2-{talk.__name__}"
    script = [[SEARCH], "Berserk.", [STOCK], "Yes."]
    answers, shown = talk(server.url, script, [[session, USER, "berserk?"], [session, USER, "is the first one there?"]])
    assert answers == ["Berserk.", "Yes."]
    assert "1. manga-002001 Berserk" in shown
    assert "missing_volumes" in shown


def test_example_agent_tells_its_results_when_time_or_calls_are_used_up(talk: Talk, server: Serving) -> None:
    session = f"ex-3-{talk.__name__}"
    script = [[SEARCH], "hang", [SEARCH], [SEARCH], [SEARCH], [SEARCH], [SEARCH]]
    answers, _ = talk(server.url, script, [[session, USER, "berserk?"]] * 2)
    assert [each.startswith("What I know so far: Berserk (¥693") for each in answers] == [True] * 2


def test_step_of_an_example_agent_makes_no_more_calls_than_are_left(talk: Talk, server: Serving) -> None:
    """The model is told of those that are not made, and answers from the others."""
    session = f"ex-4-{talk.__name__}"
    answers, shown = talk(server.url, [[SEARCH, STOCK, ORDER, STOCK, ORDER], "Both."], [[session, USER, "?"]])
    made = httpx.get(f"{server.url}/sessions/{session}", headers={"X-User-ID": USER}).json()["calls"]
    assert (answers, len(made), shown.count("No more calls in this turn")) == (["Both."], 3, 2)


@pytest.mark.parametrize("body", [b"", b'{"error": {"name": "SERVER_BUSY"}}'], ids=["empty", "json"])
def test_example_agent_has_words_for_a_store_that_refuses(talk: Talk, body: bytes) -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.Response(status=503, body=body, headers={"Retry-After": "1"})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", refuse)
    with closing(LoopThread()) as thread, closing(Held(thread, lambda: on_loopback(application))) as held:
        answers, _ = talk(held.value, ["Never asked."], [["ex-5", USER, "berserk?"]])
    assert answers == [sentence("store_away", "berserk?")]


def test_failed_call_without_a_framework_is_told_to_the_model(server: Serving) -> None:
    """The other call of its step is told too."""
    answers, shown = with_json_rpc(server.url, [[ORDER, ["no_such_tool", {}]], "Delivered."], [["ex-6", USER, "?"]])
    assert answers == ["Delivered."]
    assert "This call failed: go on without it." in shown
    assert "yamato" in shown


def test_client_configuration_that_prefixes_tool_names_works(tmp_path: Path, cache: Path) -> None:
    """As the page has it: over SSE with a bearer, each tool called by the server's name and its own, results as text alone."""
    config = blocks("json", after_all("namespaced"))[0]
    token = "a-secret-of-thirty-two-characters-or-more"
    with served(tmp_path, cache, MANGA_EMBEDDER="none", MANGA_AUTH="token", MANGA_AUTH_TOKENS=token) as guarded:
        done = subprocess.run(
            [str(python_of("clients/strands")), "-c", NAMESPACED],
            input=config.replace("http://127.0.0.1:8080", guarded.url),
            env=environment(STORE_TOKEN=token),
            capture_output=True,
            text=True,
            timeout=BOUND_SECONDS,
        )
    assert done.returncode == 0, done.stderr
    names, found, failed = json.loads(done.stdout)
    assert "manga_search_manga_catalog" in names
    assert {each.partition("_")[0] for each in names} == {"manga"}
    assert json.loads(found)["order_id"] == "MNG-DEMO1001"
    assert json.loads(failed)["error"]["name"] == "NOT_FOUND"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_example_agent_has_at_most_sixty_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 60
