"""A model that chooses its tools by the words of the question: what the service has where there is no real one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from typing import Any

from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from infra.agent.script import advice, order, shelf
from infra.agent.scripted import Json, Say, ScriptedModel, Use, results_of_turn

ORDER_ID = re.compile(r"\bMNG-[A-Z0-9]{4,20}\b", re.IGNORECASE)
ADVICE = re.compile(r"recommend|suggest|advise|おすすめ", re.IGNORECASE)
MOST_QUERY = 200
"""Characters of a question that are searched for; the server takes no more."""


class ModelByWords(ScriptedModel):
    """Serves any number of conversations at a time: all it knows is in the messages. `thinking_seconds` is how long each of
    its steps takes, for whoever wants turns as long as those of a real model."""

    def __init__(self, thinking_seconds: float = 0) -> None:
        super().__init__(())
        self._thinking_seconds = thinking_seconds

    async def stream(self, messages: Messages, *args: Any, **kwargs: Any) -> AsyncGenerator[StreamEvent, None]:
        await asyncio.sleep(self._thinking_seconds)
        async for event in super().stream(messages, *args, **kwargs):
            yield event

    def _next(self, messages: Messages) -> Use | Say:
        results = results_of_turn(messages)
        if results and "error" in results[-1]:
            return _apology
        question = question_of(messages)
        if found := ORDER_ID.search(question):
            return order if results else Use("lookup_order", {"order_id": found[0].upper()})
        if ADVICE.search(question):
            return advice if results else Use("get_recommendations", {"criteria": question[:MOST_QUERY], "count": 3})
        return _search(question, results)


def _search(question: str, results: list[Json]) -> Use | Say:
    """First what there is, then what of it is in stock."""
    steps: tuple[Callable[[], Use | Say], ...] = (
        lambda: Use("search_manga_catalog", {"query": question[:MOST_QUERY], "max_results": 3}),
        lambda: Use("check_inventory") if results[0]["results"] else _nothing,
        lambda: shelf,
    )
    return steps[min(len(results), len(steps) - 1)]()


def question_of(messages: Messages) -> str:
    """What the customer said last; nothing where nobody spoke."""
    for message in reversed(messages):
        texts = [block["text"] for block in message["content"] if "text" in block]
        if message["role"] == "user" and texts:
            return " ".join(texts)
    return ""


def _nothing(results: list[Json]) -> str:
    return "We have nothing of that kind."


def _apology(results: list[Json]) -> str:
    said = results[-1]["error"].get("message") or "the store gave no reason"
    return f"I could not look that up: {said}"
