"""`python -m infra.agent.agent`: a Strands agent in conversation with the store's tools, over SSE.

The default model picks tools by keywords, without credentials; `--bedrock MODEL` asks a real model the same questions. Each
question is a turn of its own, which `StoreTools` states in the `_meta` of each call. `--serve` answers questions over HTTP
instead, as in the container beside the server."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence

from strands import Agent
from strands.models import Model

from infra.agent.bedrock import bedrock_model, problem_of
from infra.agent.by_words import ModelByWords
from infra.agent.options import ModelSettings, ServiceSettings, WrongSetting, parser, patience_ms
from infra.agent.service import MOST_TURNS, serve
from infra.agent.store import listens
from infra.agent.store_tools import StoreTools
from infra.agent.traces import export_spans, turn_span
from infra.agent.transcript import Transcript, line

# Each question, with the number of tool rounds that its answer is likely to need.
QUESTIONS = (
    ("I'm in the mood for dark fantasy with swords and demons. What do you have on the shelf?", 2),
    ("And for my niece, who is ten? It should be finished, under ten volumes, and nothing gory.", 1),
    ("Good. And where is my {order}?", 1),
    ("Recommend me a dozen like those, but nothing I already own.", 2),
)
REFUSED = "VALIDATION_ERROR"
"""Expected outcome of the call for a dozen, which exceeds the tool's limit; every other call succeeds."""


SLOWER = (
    "each answer has {:.1f} s, the model's thinking included: for a slower one --patience-ms here, and at the server "
    "MANGA_TURN_BUDGET_MS as long, or MANGA_TURN_CLOCK=tools"
)


def converse(url: str, model: Model, user: str, order: str | None, seconds: float) -> list[str]:
    """Asks the agent each of `QUESTIONS`, to be answered in `seconds`, and prints the conversation. `order`: number of the
    order to ask about, None for the latest. Returns the outcome of each tool call, in order."""
    transcript, store = Transcript(), StoreTools(url, user, seconds=seconds)
    agent = Agent(model, plugins=[store], hooks=[transcript], callback_handler=None)
    if connection := store.store.connection:
        first = connection.rules.splitlines()[0]
        line("prompt", f"{connection.source}, {len(connection.rules)} characters: {first}")
    for asked, steps in QUESTIONS:
        question = asked.format(order=f"order {order}" if order else "latest order")
        line("customer", question)
        store.steps = steps
        with turn_span():
            answer = agent(question)
        line("agent", str(answer).strip())
        print()
    return transcript.outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    export_spans(os.environ)
    try:
        chosen = None if asked.bedrock is None else ModelSettings.read(os.environ, asked.bedrock)
        settings = ServiceSettings.read(os.environ, asked.host) if asked.serve else None
    except WrongSetting as problem:
        print(problem, file=sys.stderr)
        return 2
    if settings is None and not listens(asked.url):
        print(f"no server listens at {asked.url}; start one with: make run", file=sys.stderr)
        return 1
    try:
        model = bedrock_model(chosen, MOST_TURNS) if chosen else ModelByWords(asked.thinking_ms / 1000)
        seconds = patience_ms(asked) / 1000
        if settings:
            return _serve(asked, model, settings)
        if chosen:
            line("time", SLOWER.format(seconds))
        outcomes = converse(asked.url, model, asked.user, asked.order, seconds)
    except Exception as error:
        if chosen is None or not (why := problem_of(error)):
            raise
        print(f"{chosen.model}: {why}", file=sys.stderr)
        return 1
    as_expected = set(outcomes) == {"success", REFUSED} and outcomes.count(REFUSED) == 1
    return 0 if chosen or as_expected else 1


def _serve(asked: argparse.Namespace, model: Model, settings: ServiceSettings) -> int:
    """Serves HTTP until SIGTERM; the exit status is 0. Silences the libraries' loggers, which write a hundred lines for each
    lost connection."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    for library in ("strands", "mcp", "client", "httpx2", "httpx"):  # "client" is the logger of the SDK's session
        logging.getLogger(library).setLevel(logging.CRITICAL)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    asyncio.run(serve(asked.url, model, asked.host, asked.port, patience_ms(asked), settings))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
