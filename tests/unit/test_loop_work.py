"""What a call does on the event loop at a stretch is bounded, whatever a caller asks: while it runs, nobody else is served.

Lines of Python are counted, repetitions included, between two turns of the loop. Ten thousand take about a millisecond.
Backends in this process work on threads of their own, and are not counted: the interpreter lets the loop in between.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from server.results import call_tool_result
from session.backends.multiplexed import MultiplexedRedis
from session.deadline import Deadline
from session.profile import Event, EventKind
from tests.quality.sets import evaluation_set, missing_message
from tests.support.large_catalog import large_catalog
from tests.support.largest import TEXTS, asked_of
from tests.support.loop_thread import Held, LoopThread
from tests.support.loop_work import counted
from tests.support.pipeline import Kit, open_kit
from tests.support.store import Mood, Shelf, an_order, open_shelf
from tools.contract import Tool
from tools.registry import TOOLS

MOST_LINES = 25_000
LONG = 100_000
"""Milliseconds: what is counted line by line takes its time, and none of it is to be cut off."""


@dataclass(frozen=True, slots=True)
class Large:
    shelf: Shelf
    title_ids: list[str]
    """The best known first."""


@pytest.fixture(scope="module", params=["generated", "evaluation"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    records = large_catalog() if request.param == "generated" else _evaluation()
    records.sort(key=lambda record: record.get("popularity_rank") or 10**9)
    ids = [record["title_id"] for record in records]
    thread = LoopThread()
    orders = [("u", an_order("MNG-UUUU0001", *ids[:40]))]
    held = Held(thread, partial(open_shelf, tmp_path_factory.mktemp("large"), records, orders))
    yield Large(held.value, ids)
    held.close()
    thread.close()


def _evaluation() -> list[dict[str, Any]]:
    judged = evaluation_set()
    if judged is None:
        pytest.skip(missing_message())
    with gzip.open(judged.catalog) as lines:
        return [json.loads(line) for line in lines]


async def reader_of(large: Large, kit: Kit) -> None:
    """The customer `u` has bought much, looked at much, and searched in the longest words that are kept."""
    viewed = [Event(EventKind.VIEWED, each, "2026-11-02T09:30:00.000Z") for each in large.title_ids[40:80]]
    themes = ("冒険と友情と学園と恋愛 " * 10)[:100]
    searched = [Event(EventKind.SEARCHED, f"{themes[:-2]}{n:02}", "2026-11-02T09:30:00.000Z") for n in range(10)]
    await kit.backends.profiles.inner.remember([("u", each) for each in (*viewed, *searched)], Deadline.after(5))


def known(large: Large, tool: Tool) -> dict[str, Any]:
    """What must look like something: ids of the fullest titles."""
    rule = tool.input_schema["properties"].get("title_ids", {})
    many = {"title_ids": large.title_ids[: rule.get("maxItems", 0)]}
    return {**many, "title_id": large.title_ids[0], "order_id": "MNG-UUUU0001"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_every_tool_does_little_at_a_stretch(large: Large, redis: MultiplexedRedis, tool: Tool) -> None:
    """From the bare arguments to the result as it is sent: live and, with every backend down, from the ladder's rungs."""
    async with open_kit(redis, large.shelf.in_moods(), timeout_ms=LONG, call_timeout_ms=LONG, budget_ms=LONG) as kit:
        await reader_of(large, kit)
        for mood in (Mood.WORKS, Mood.FAILS):
            for backend in (kit.backends.catalog, kit.backends.stock, kit.backends.orders):
                backend.mood = mood
            for number, (kind, text) in enumerate(TEXTS.items()):
                for arguments in asked_of(tool, text, known(large, tool)):
                    call = kit.call(tool.name, arguments, session=f"{mood}-{number}", user="u")
                    with counted() as work:
                        outcome = await kit.pipeline.run(call)
                        call_tool_result(call, outcome)
                    assert outcome.failure is None or outcome.failure.name != "VALIDATION_ERROR", outcome.failure
                    assert work.longest <= MOST_LINES, f"{kind}: {work.told()}"


async def test_the_counting_sees_what_is_done_at_a_stretch() -> None:
    """A loop of ten thousand lines is one; ten of a thousand lines with a turn between them are not."""

    def lines(many: int) -> None:
        for _ in range(many):
            pass

    with counted() as work:
        lines(10_000)
    assert work.longest > 10_000
    with counted() as work:
        for _ in range(10):
            lines(1_000)
            await asyncio.sleep(0)
    assert 1_000 < work.longest < 3_000
