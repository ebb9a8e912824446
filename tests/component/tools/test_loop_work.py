"""What a call does on the event loop at a stretch is bounded, whatever a caller asks: while it runs, nobody else is served.

Lines of Python are counted, repetitions included, between two turns of the loop. Seventy thousand take two to seven milliseconds.
Backends in this process work on threads of their own, and are not counted: the interpreter lets the loop in between.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from server.results import call_tool_result
from session.preferences import LONGEST, MOST_KEPT, Preference, StoredPreferences
from session.profile import Event, EventKind
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.quality.sets import evaluation_set, missing_message
from tests.support.generous_opensearch import GenerousClient, OneVector
from tests.support.large_catalog import FULL, large_catalog
from tests.support.largest import TEXTS, asked_of
from tests.support.loop_work import counted
from tests.support.pipeline import Kit, open_kit
from tests.support.store import Mood, Shelf, an_order, held_shelf
from tools.contract import Effect, Tool
from tools.registry import TOOLS
from tools.store.backends.embedded.customers import EmbeddedCustomers
from tools.store.backends.opensearch.catalog import OpenSearchCatalog
from tools.store.models import Conditions, Order

pytestmark = [pytest.mark.timeout(400), pytest.mark.virtual_time]

MOST_LINES = 75_000
MOST_LINES_A_CALL = 9_000
"""On the loop, of the longest text. To read it there as well would be four times as many."""
BURST, LONGEST_TEXT = 40, 2_000
OPENING_SECONDS = 300.0
"""Eight on a machine that has nothing else to do."""
REFUSED = ("VALIDATION_ERROR", "RATE_LIMITED", "INTERNAL_ERROR")


@dataclass(frozen=True, slots=True)
class Large:
    shelf: Shelf
    title_ids: list[str]
    """The best known first."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    records = sorted(_evaluation() or large_catalog(), key=lambda record: record.get("popularity_rank") or 10**9)
    ids = [record["title_id"] for record in records]
    contents = (records, owned(ids), long_series(ids))
    with held_shelf(tmp_path_factory.mktemp("large"), *contents, seconds=OPENING_SECONDS) as shelf:
        yield Large(shelf, ids)


def _evaluation() -> list[dict[str, Any]] | None:
    judged = evaluation_set()
    if judged is None:
        with warnings.catch_warnings():  # told at the end of the run, where warnings else are errors
            warnings.simplefilter("default")
            warnings.warn(f"{missing_message()}; a generated catalogue of the same size is used", stacklevel=2)
        return None
    with gzip.open(judged.catalog) as lines:
        return [json.loads(line) for line in lines]


def owned(title_ids: list[str]) -> list[tuple[str, Order]]:
    return [("u", an_order("MNG-UUUU0001", *title_ids[:40]))]


def long_series(title_ids: list[str]) -> list[dict[str, Any]]:
    """As many as one call may ask for, each as long as the longest there is, and sold out: nothing ends a look early."""
    one = {"format": "physical", "price_jpy": 528, "stock": 0, "restock_date": "2027-01-15"}
    return [
        {"title_id": title_id, "volume": volume, "isbn": _isbn(1000 * place + volume), **one}
        for place, title_id in enumerate(title_ids[:20])
        for volume in range(1, 111)
    ]


def _isbn(number: int) -> str:
    digits = f"978408{number:06}"
    return digits + str(-sum(int(digit) * (1 + 2 * (place % 2)) for place, digit in enumerate(digits)) % 10)


async def reader_of(large: Large, kit: Kit) -> None:
    """The customer `u` has bought much, looked at much, searched in the longest words that are kept, and asked for as much to
    be remembered as is."""
    viewed = [Event(EventKind.VIEWED, each, "2026-11-02T09:30:00.000Z") for each in large.title_ids[40:80]]
    themes = ("冒険と友情と学園と恋愛 " * 10)[:100]
    searched = [Event(EventKind.SEARCHED, f"{themes[:-2]}{n:02}", "2026-11-02T09:30:00.000Z") for n in range(10)]
    await state_much(kit, MOST_KEPT)
    await kit.backends.profiles.inner.remember([("u", each) for each in (*viewed, *searched)], Deadline.after(5))


async def state_much(kit: Kit, count: int) -> None:
    """So many preferences of `u`, as long as they get, whatever was kept before."""
    said = ["グロいのと怖いのは苦手で予算は一冊700円まで、", "no gore and no romance, at most 700 yen a volume, "]
    texts = [f"{n:02} {said[n % 2] * LONGEST}"[:LONGEST] for n in range(count)]
    stated = StoredPreferences(tuple(Preference(text, kit.store.now().date().isoformat()) for text in texts), "a")
    kit.backends.preferences.inner = EmbeddedCustomers()
    await kit.backends.preferences.inner.keep("u", stated, None, Deadline.after(5))


def known(large: Large, tool: Tool) -> dict[str, Any]:
    """What must look like something: ids of the fullest titles."""
    rule = tool.input_schema["properties"].get("title_ids", {})
    many = {"title_ids": large.title_ids[: rule.get("maxItems", 0)]}
    return {**many, "title_id": large.title_ids[0], "order_id": "MNG-UUUU0001"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_no_tool_runs_more_than_the_allowed_lines_without_yielding(
    large: Large, redis: MultiplexedRedis, tool: Tool
) -> None:
    """Lines are counted from the arguments to the sent result, live and from fallbacks with every backend down."""
    backends = large.shelf.in_moods()
    async with open_kit(redis, backends) as kit:
        await reader_of(large, kit)
        for mood in (Mood.WORKS, Mood.FAILS):
            for backend in (backends.catalog, backends.stock, backends.orders):
                backend.mood = mood
            await sweep(large, kit, tool, mood)


@pytest.fixture(scope="module")
def generous(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    """Only as many titles as are judged, and all of them as full as they get."""
    records = large_catalog(FULL)
    ids = [record["title_id"] for record in records]
    with held_shelf(tmp_path_factory.mktemp("generous"), records, owned(ids), seconds=OPENING_SECONDS) as shelf:
        yield Large(shelf, ids)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.effect is Effect.READS], ids=lambda tool: tool.name)
async def test_judging_cluster_results_runs_bounded_lines_without_yielding(
    generous: Large, redis: MultiplexedRedis, tool: Tool
) -> None:
    """As many candidates as a search can find, of the fullest titles, are judged on the event loop."""
    backends = generous.shelf.in_moods()
    with ThreadPoolExecutor(1) as workers:
        client: Any = GenerousClient([(title, ()) for title in generous.shelf.catalog.titles])
        backends.catalog.inner = OpenSearchCatalog(client, OneVector(), workers)
        async with open_kit(redis, backends) as kit:
            await reader_of(generous, kit)
            await sweep(generous, kit, tool, "judged")
            with counted() as work:
                assert len(await backends.catalog.inner.popular(Conditions(), 500, Deadline.after(60))) == 500
            assert work.longest <= MOST_LINES, work.told()


async def sweep(large: Large, kit: Kit, tool: Tool, name: str) -> None:
    """Every kind of text in every argument. Nothing is refused, and what answers is not made up for, or nothing would have
    been done."""
    for number, (kind, text) in enumerate(TEXTS.items()):
        for arguments in asked_of(tool, text, known(large, tool)):
            if tool.effect is Effect.ADDS:
                await state_much(kit, MOST_KEPT - 1)
            call = kit.call(tool.name, arguments, session=f"{name}-{number}", user="u")
            with counted() as work:
                outcome = await kit.pipeline.run(call)
                call_tool_result(call, outcome)
            assert outcome.failure is None or outcome.failure.name not in REFUSED, outcome.failure
            assert name == Mood.FAILS or outcome.fallback is None, f"{kind}: {sorted(arguments)} ended early"
            assert work.longest <= MOST_LINES, f"{kind}: {work.told()}"


async def test_burst_of_long_texts_runs_bounded_lines_on_the_loop(large: Large, redis: MultiplexedRedis) -> None:
    """Whoever asks when all of them are there already waits for what the loop does for them, which is next to nothing: texts
    are read and embedded on threads. So many lines as are counted here take some tens of milliseconds."""
    longest = [f"{number} {'a boy who dreams of pirates 海賊 ' * 100}"[:LONGEST_TEXT] for number in range(BURST)]
    async with open_kit(redis, large.shelf.in_moods()) as kit:
        await kit.ask("classify_genre", {"text": "the first one loads what is loaded once"}, session="first", user="first")
        asked = [kit.call("classify_genre", {"text": text}, session=f"s{n}", user=f"u{n}") for n, text in enumerate(longest)]
        with counted() as work:
            outcomes = await asyncio.gather(*(kit.pipeline.run(call) for call in asked))
    assert [outcome.failure for outcome in outcomes] == [None] * BURST
    assert work.total <= BURST * MOST_LINES_A_CALL, f"{work.total} lines for {BURST} calls"


async def test_line_counter_measures_the_longest_run_without_yielding() -> None:
    """A loop of ten thousand lines counts whole; ten of a thousand with a yield between count apart."""

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
