"""`python -m infra.agent.agent`: a Strands agent in conversation with the store's tools, over SSE.

With a scripted model it needs no credentials; `--bedrock MODEL` puts the same questions to a real one. Each question is
a turn of its own: `turns.py` shows how its session, turn and user travel with every call. `--serve` answers anybody's
questions over HTTP instead, as the container beside the server does.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from mcp.client.sse import sse_client
from strands import Agent
from strands.models import Model
from strands.tools.mcp import MCPClient

from infra.agent.by_words import ModelByWords
from infra.agent.link import listens
from infra.agent.options import parser, patience_ms
from infra.agent.script import QUESTIONS, SCRIPT, SCRIPTED_OUTCOMES
from infra.agent.scripted import ScriptedModel
from infra.agent.service import serve
from infra.agent.system_prompt import system_prompt
from infra.agent.traces import export_spans, turn_span
from infra.agent.transcript import Transcript, line
from infra.agent.turns import StateTheTurn, Turn

USER = "demo-user-1"
BUDGET_MS = 3000
"""Of a turn, as the server has it (MANGA_TURN_BUDGET_MS): stating more would change nothing."""


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
            with turn_span():
                answer = agent(question, invocation_state={"turn": turn})
            line("agent", str(answer).strip())
            print()
    return transcript.outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    export_spans(os.environ)
    if asked.serve:
        return _serve(asked)
    if not listens(asked.url):
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


def _serve(asked: argparse.Namespace) -> int:
    """Until SIGTERM. The libraries tell of each lost connection in a hundred lines; what matters of it is told here."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    for library in ("strands", "mcp", "client", "httpx2", "httpx"):  # "client" is how the SDK's session calls itself
        logging.getLogger(library).setLevel(logging.CRITICAL)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    model = ModelByWords(asked.thinking_ms / 1000) if asked.bedrock is None else _model(asked.bedrock)
    asyncio.run(serve(asked.url, model, asked.host, asked.port, patience_ms(asked)))
    return 0


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
