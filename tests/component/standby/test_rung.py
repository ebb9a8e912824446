"""The standby fallback gives the same answer under another label, in time, until the catalogue is back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from server.standby.replica import NAME, TOOLS, StandbyStores
from session.resilience.deadline import Deadline
from tests.support.calls import FALLBACKS, IDS, age
from tests.support.pipeline import Answer, Kit, Opener
from tests.support.standby import MADE, Opened, opened
from tests.support.store import BAD, Backends, Mood
from tests.support.virtual_time import clocks_of, running_clock
from tools.registry import TOOLS as ALL_TOOLS
from tools.store.failures import CircuitOpen, DependencyFailure, TimedOut
from tools.store.models import Title

pytestmark = pytest.mark.virtual_time

ASKED: dict[str, dict[str, Any]] = {
    "search_manga_catalog": {"query": "shonen under 502 yen, no ghosts"},
    "get_recommendations": {"criteria": "romance"},
    "get_manga_details": {"title_id": "manga-000004"},
}
TIMEOUTS = {tool.name: tool.timeout_ms for tool in ALL_TOOLS}
SLACK_MS = 20


def standby(catalog: Any) -> StandbyStores:
    return StandbyStores(opened(catalog), clocks_of(running_clock()))  # type: ignore[arg-type]


async def with_standby(opener: Opener, moody: Backends, **how: Any) -> Kit:
    """A standby that knows what the catalogue does."""
    kit: Kit = await opener(second=standby(moody.catalog.inner), **how)
    return kit


def lose(kit: Kit, mood: Mood) -> None:
    """The catalogue, and with it the records, which are enough for details."""
    kit.backends.catalog.mood = kit.backends.titles.mood = mood


def said(answer: Answer) -> dict[str, Any]:
    return {name: value for name, value in answer.value.items() if name != "note"}


def label(answer: Answer) -> tuple[Any, ...]:
    return answer.failure, answer.meta["source"], answer.meta.get("fallback")


def test_every_tool_with_a_standby_is_tested_here() -> None:
    assert ASKED.keys() == TOOLS


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", ASKED)
async def test_failing_catalogue_changes_only_the_label_of_the_answer(
    opener: Opener, moody: Backends, tool: str, mood: Mood
) -> None:
    """Conditions hold, prices and stock are live, and the answer comes within the tool's timeout."""
    kit = await with_standby(opener, moody, cache=False)
    before = await kit.ask(tool, ASKED[tool], user="u", session="a")
    lose(kit, mood)
    after = await kit.ask(tool, ASKED[tool], user="u", session="b")
    assert (label(before), label(after)) == ((None, "live", None), (None, "fallback", NAME))
    assert said(after) == said(before)
    assert after.meta["degraded"] == []
    assert after.meta["asOf"].startswith("2026-09-21"), MADE
    assert after.meta["latencyMs"] <= TIMEOUTS[tool] + SLACK_MS
    assert NAME in after.note


async def test_turn_budget_is_kept_while_the_catalogue_hangs(opener: Opener, moody: Backends) -> None:
    """The standby is asked early enough for any rest of the turn."""
    kit = await with_standby(opener, moody)
    lose(kit, Mood.HANGS)
    for left in (400, 600, 1000):
        stated = {"turn": f"t{left}", "turn_budget_ms": left, "session": "s"}
        answer = await kit.ask("search_manga_catalog", {"query": f"pirates {left}"}, **stated)
        assert label(answer) == (None, "fallback", NAME)
        assert answer.meta["latencyMs"] <= left - 200


async def test_recovered_catalogue_answers_again_and_no_standby_answer_was_cached(opener: Opener, moody: Backends) -> None:
    kit = await with_standby(opener, moody)
    lose(kit, Mood.FAILS)
    asked = {"query": "pirates"}
    for _ in range(12):
        assert label(await kit.ask("search_manga_catalog", asked)) == (None, "fallback", NAME)
    assert "catalog" in kit.open_breakers()
    lose(kit, Mood.WORKS)
    kit.clock.advance(60)
    assert label(await kit.ask("search_manga_catalog", asked)) == (None, "live", None)
    assert label(await kit.ask("search_manga_catalog", asked)) == (None, "cache", None)


async def test_stale_cache_entry_precedes_the_standby(opener: Opener, moody: Backends) -> None:
    """A stale entry is the search engine's own answer, less than a day old."""
    kit = await with_standby(opener, moody)
    await kit.ask("search_manga_catalog", {"query": "pirates"})
    await age(kit, 3600)
    lose(kit, Mood.FAILS)
    assert label(await kit.ask("search_manga_catalog", {"query": "pirates"})) == (None, "stale", None)


async def test_live_stock_is_joined_to_results_of_the_standby(opener: Opener, moody: Backends) -> None:
    kit = await with_standby(opener, moody)
    lose(kit, Mood.FAILS)
    first = (await kit.ask("search_manga_catalog", {"query": "pirates"})).value["results"][0]
    assert (first["title_id"], first["price_jpy"], first["in_stock"]) == ("manga-000001", 501, True)
    kit.clock.advance(60)
    kit.backends.stock.mood = Mood.FAILS
    answer = await kit.ask("search_manga_catalog", {"query": "pirates"})
    assert label(answer) == (None, "fallback", NAME)
    assert (answer.value["results"][0]["in_stock"], answer.meta["degraded"]) == (None, ["stock"])


async def test_title_unknown_to_the_standby_is_not_called_not_found(opener: Opener, moody: Backends) -> None:
    """The standby may be older than the title, so the answer is that it is unknown now."""
    kit = await with_standby(opener, moody)
    lose(kit, Mood.FAILS)
    assert (await kit.ask("get_manga_details", {"title_id": "manga-999999"})).failure == "DEPENDENCY_FAILURE"


@pytest.mark.parametrize("mood", [*BAD, Mood.BREAKS])
async def test_failing_standby_leads_to_the_next_fallback(opener: Opener, moody: Backends, mood: Mood) -> None:
    second = Backends(*[None] * 8)  # type: ignore[arg-type]
    second.catalog = type(moody.catalog)(moody.catalog.inner, mood)
    kit: Kit = await opener(second=standby(second.catalog))
    lose(kit, Mood.FAILS)
    answer = await kit.ask("search_manga_catalog", {"query": "pirates"})
    if mood is Mood.BREAKS:
        assert answer.failure == "INTERNAL_ERROR"
    else:
        assert label(answer) == (None, "fallback", FALLBACKS["search_manga_catalog"])


async def test_standby_that_is_not_loaded_changes_nothing(opener: Opener, moody: Backends) -> None:
    kit: Kit = await opener(second=StandbyStores(Opened(), clocks_of(running_clock())))  # type: ignore[arg-type]
    lose(kit, Mood.HANGS)
    answer = await kit.ask("search_manga_catalog", {"query": "pirates"})
    assert label(answer) == (None, "fallback", FALLBACKS["search_manga_catalog"])
    assert answer.meta["latencyMs"] >= TIMEOUTS["search_manga_catalog"], "the catalogue had all of the time"


async def test_tools_of_other_backends_do_not_use_the_standby(opener: Opener, moody: Backends) -> None:
    kit = await with_standby(opener, moody)
    await kit.ask("check_inventory", IDS)
    kit.clock.advance(6)
    kit.backends.stock.mood = Mood.FAILS
    assert label(await kit.ask("check_inventory", IDS)) == (None, "fallback", FALLBACKS["check_inventory"])


class Slow:
    """A catalogue that takes its time, or fails after it."""

    def __init__(self, seconds: float, *, fails: bool = False) -> None:
        self.seconds, self.fails = seconds, fails
        self.asked = self.under_way = self.most = 0

    async def get(self, title_ids: Any, deadline: Any) -> dict[str, Title]:
        self.asked += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.under_way -= 1
        if self.fails:
            raise DependencyFailure("no", dependency=NAME)
        return {}


async def test_standby_is_asked_once_for_300_ms_by_eight_at_a_time_and_left_alone_when_slow(kit: Kit) -> None:
    clock = running_clock()

    async def ask(catalog: Slow, times: int = 1) -> list[Any]:
        second = standby(catalog)("search_manga_catalog", kit.store)
        assert second is not None
        return [
            *await asyncio.gather(*(second.store.catalog.get(["x"], Deadline.after(5, clock)) for _ in range(times))),
            *[await second.store.catalog.get(["x"], Deadline.after(5, clock)) for _ in range(times)],
        ]

    for hangs in (Slow(0.31), Slow(0.1, fails=True)):
        started = clock()
        with pytest.raises(DependencyFailure if hangs.fails else TimedOut):
            await ask(hangs)
        assert clock() - started == pytest.approx(min(hangs.seconds, 0.3))
        assert hangs.asked == 1
    crowded = Slow(0.1)
    assert await ask(crowded, 9) == [{}] * 18
    assert crowded.most == 8
    assert await ask(Slow(0.24), 8) == [{}] * 16
    with pytest.raises(CircuitOpen):
        await ask(Slow(0.25), 8)


@pytest.mark.parametrize(("where", "shown"), [("off", []), ("on", ["manga-000009"])])
async def test_adult_titles_are_hidden_from_the_standby_when_disabled(
    opener: Opener, moody: Backends, where: str, shown: list[str]
) -> None:
    class Shelf:
        async def get(self, title_ids: Any, deadline: Any) -> dict[str, Title]:
            return {"manga-000009": Title("manga-000009", en="Nine", tags=("Hentai",))}

    kit: Kit = await opener(adult=where)
    second = standby(Shelf())("get_manga_details", kit.store)
    assert second is not None
    assert [*await second.store.catalog.get(["manga-000009"], Deadline.after(1, running_clock()))] == shown
