"""Asks the real tools, over a catalogue as the server opens it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from server.config.settings import Settings
from server.wiring import open_app
from session.resilience.deadline import Deadline
from tests.quality.conditions.score import DEPTH
from tools.contract import Tool, ToolContext
from tools.registry import TOOLS
from tools.store.failures import Failure
from tools.store.store import Store

PATIENCE_S = 30.0
TODAY = datetime(2026, 11, 22, 12, tzinfo=UTC)
"""When the queries are asked: "the last three years" is about a fact that was judged then."""


@dataclass(frozen=True, slots=True)
class ToolAsked:
    """A tool, which of its arguments takes the words and which the number of answers, and where its answer has them."""

    name: str
    words: str
    number: str
    answers: str


ASKED = {
    "search": ToolAsked("search_manga_catalog", "query", "max_results", "results"),
    "recommend": ToolAsked("get_recommendations", "criteria", "count", "recommendations"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where titles are found. `file` holds the facts, also where another search engine than the embedded one, at `url`, was
    filled from it; `cache_dir` keeps the embedded one's vectors."""

    file: Path
    cache_dir: Path | None = None
    url: str = "embedded:"


@dataclass(frozen=True, slots=True)
class Answer:
    """`understood` are the words that conditions were read from. `degraded` names what was left out; a call that failed has no
    result and is degraded by "failed"."""

    title_ids: tuple[str, ...]
    relaxed: bool = False
    understood: tuple[str, ...] = ()
    degraded: frozenset[str] = frozenset()
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Shop:
    """The open store, and one tool of it."""

    store: Store
    asked: ToolAsked

    async def answer(self, words: str) -> Answer:
        tool = next(tool for tool in TOOLS if tool.name == self.asked.name)
        arguments = _defaults(tool) | {self.asked.words: words, self.asked.number: DEPTH}
        context = ToolContext(self.store, None, Deadline.after(PATIENCE_S))
        begun = time.perf_counter()
        try:
            result = await tool.handler(context, arguments)
        except Failure:
            result = {}
            context.degraded.add("failed")
        took = (time.perf_counter() - begun) * 1000
        return self._read(result, context.degraded, took)

    def _read(self, result: Mapping[str, Any], degraded: set[str], took: float) -> Answer:
        ids = tuple(card["title_id"] for card in result.get(self.asked.answers, ()))
        understood = tuple(str(each["from"]) for each in result.get("understood", ()))
        return Answer(ids, bool(result.get("relaxed")), understood, frozenset(degraded), took)


@asynccontextmanager
async def open_shop(place: Place, tool: str) -> AsyncIterator[Shop]:
    """With vectors, waited for."""
    settings = Settings(
        catalog_file=place.file, catalog_url=place.url, data_dir=place.cache_dir, cache=False, rate_limit=False
    )
    async with open_app(settings, local=True) as app:
        await app.ports.prepared()
        await app.pipeline.store.popular.refresh()
        yield Shop(replace(app.pipeline.store, now=lambda: TODAY), ASKED[tool])


def _defaults(tool: Tool) -> dict[str, Any]:
    """What the validation adds to arguments."""
    properties: Mapping[str, Mapping[str, Any]] = tool.input_schema["properties"]
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}
