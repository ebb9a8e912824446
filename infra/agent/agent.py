"""`python -m infra.agent.agent`: a Strands agent in conversation with the store's tools, over SSE.

With a scripted model it needs no credentials; `--bedrock MODEL` puts the same questions to a real one. Each question is
a turn of its own: `turns.py` shows how its session, turn and user travel with every call.
"""

from __future__ import annotations

import socket
import sys
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from mcp.client.sse import sse_client
from strands import Agent
from strands.models import Model
from strands.tools.mcp import MCPClient

from infra.agent.options import parser
from infra.agent.scripted import Json, Say, ScriptedModel, Use
from infra.agent.system_prompt import system_prompt
from infra.agent.transcript import Transcript, line
from infra.agent.turns import StateTheTurn, Turn

CONNECT_SECONDS = 3
USER = "demo-user-1"
BUDGET_MS = 3000
"""Of a turn, as the server has it (MANGA_TURN_BUDGET_MS): stating more would change nothing."""

# Each question with the rounds of tools that its answer is likely to need.
QUESTIONS = (
    ("I'm in the mood for dark fantasy with swords and demons. What do you have on the shelf?", 2),
    ("And for my niece, who is ten? It should be finished, under ten volumes, and nothing gory.", 1),
    ("Good. And where is my order MNG-DEMO1002?", 1),
    ("Recommend me a dozen like those, but nothing I already own.", 2),
)


def shelf(results: list[Json]) -> str:
    found, stock = results
    names = {card["title_id"]: card["title"] for card in found["results"]}
    here = [f"{names[each['title_id']]} ({_terms(each)})" for each in stock["items"] if each["in_stock"]]
    return f"You can have {', '.join(here)}." if here else "Nothing of that kind is in stock right now."


def _terms(item: Json) -> str:
    missing = ", ".join(str(each) for each in item["missing_volumes"])
    return f"¥{item['price_jpy']} a volume{f', all but {missing}' if missing else ''}"


def gift(results: list[Json]) -> str:
    found = results[-1]
    titles = [card["title"] for card in found["results"]]
    heard = [each["condition"] for each in found.get("understood", [])]
    return f"For her there {'are' if len(titles) > 1 else 'is'} {', '.join(titles)}: {', '.join(heard)}."


def order(results: list[Json]) -> str:
    found = results[-1]
    parcels = [f"{each['carrier']} says {each['status'].replace('_', ' ')}" for each in found["shipments"]]
    return f"Order {found['order_id']} is {found['status'].replace('_', ' ')}{': ' if parcels else ''}{'; '.join(parcels)}."


def advice(results: list[Json]) -> str:
    titles = [card["title"] for card in results[-1]["recommendations"]]
    return f"I can name ten at a time; start with {', '.join(titles[:3])}."


SCRIPT: tuple[Use | Say, ...] = (
    Use("search_manga_catalog", {"query": "dark fantasy with swords and demons", "max_results": 3}),
    Use("check_inventory"),  # without ids: those of the search
    shelf,
    Use(
        "search_manga_catalog", {"query": "finished, under ten volumes, nothing gory, for a ten-year-old", "max_results": 3}
    ),
    gift,
    Use("lookup_order", {"order_id": "MNG-DEMO1002"}),
    order,
    Use("get_recommendations", {"criteria": "dark fantasy with swords and demons", "count": 12}),  # 10 is the most
    Use("get_recommendations", {"criteria": "dark fantasy with swords and demons", "count": 10}),
    advice,
)
SCRIPTED_OUTCOMES = ["success", "success", "success", "success", "VALIDATION_ERROR", "success"]


def converse(url: str, model: Model) -> list[str]:
    """Holds the conversation and prints it; what the calls came to, in order."""
    session, transcript = f"chat-{uuid.uuid4().hex[:8]}", Transcript()
    with MCPClient(lambda: sse_client(url)) as client:
        told = system_prompt(client)
        line("prompt", f"{told.source}, {len(told.text)} characters: {told.text.splitlines()[0]}")
        agent = Agent(
            model=model,
            tools=client.list_tools_sync(),
            system_prompt=told.text,
            # In this order: first the turn is stated, then it is shown.
            hooks=[StateTheTurn(), transcript],
            callback_handler=None,
        )
        for number, (question, steps) in enumerate(QUESTIONS, 1):
            line("customer", question)
            turn = Turn(session, f"{session}.{number}", USER, steps, BUDGET_MS)
            answer = agent(question, invocation_state={"turn": turn})
            line("agent", str(answer).strip())
            print()
    return transcript.outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    if not _listens(asked.url):
        print(f"no server listens at {asked.url}; start one with: make run", file=sys.stderr)
        return 1
    try:
        outcomes = converse(asked.url, _model(asked.bedrock))
    except Exception as error:
        if asked.bedrock is None or not (problem := _of_bedrock(error)):
            raise
        print(f"{asked.bedrock}: {problem}", file=sys.stderr)
        return 1
    return 0 if asked.bedrock or outcomes == SCRIPTED_OUTCOMES else 1


def _listens(url: str) -> bool:
    """Asked first, because the SDK tells of a refused connection in a hundred lines."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _of_bedrock(error: Exception) -> str | None:
    from infra.agent.bedrock import problem_of

    return problem_of(error)


def _model(bedrock: str | None) -> Model:
    if bedrock is None:
        return ScriptedModel(SCRIPT)
    from strands.models import BedrockModel

    options: dict[str, Any] = {"model_id": bedrock}
    return BedrockModel(**options)


if __name__ == "__main__":
    raise SystemExit(main())
