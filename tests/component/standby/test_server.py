"""A server with a standby catalogue over real sockets: the search engine fails in mid-conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from server.backends.opening import Ports
from server.config.settings import DEMO, Settings
from server.standby.replica import NAME
from tests.support.cases import cases
from tests.support.inprocess import in_process
from tests.support.raw import ask
from tests.support.standby import bundle_of
from tests.support.standby_shop import Shop
from tests.support.store import Mood, Moody
from tools.store.records.catalog_file import load

SEARCH = "search_manga_catalog"


@asynccontextmanager
async def open_shop(tmp_path: Path) -> AsyncIterator[tuple[Shop, Moody]]:
    bundle = await bundle_of(tmp_path / "standby.bundle", load(DEMO / "catalog.jsonl"))
    engines: list[Moody] = []

    def behind_a_mood(ports: Ports) -> Ports:
        engines.append(Moody(ports.catalog))
        return replace(ports, catalog=engines[0])

    settings = Settings(standby="full", standby_url=bundle.as_uri(), cache=False)
    async with in_process(behind_a_mood, settings) as here:
        yield Shop(here.port), engines[0]


@cases("mood", [Mood.FAILS, Mood.HANGS, Mood.DROPS])
async def test_lost_search_engine_is_replaced_by_the_standby_until_it_recovers(tmp_path: Path, mood: Mood) -> None:
    async with open_shop(tmp_path) as (shop, engine):
        await shop.until_loaded()
        await _lost_and_found(shop, engine, mood)


async def _lost_and_found(shop: Shop, engine: Moody, mood: Mood) -> None:
    asked = {"query": "finished dark fantasy, nothing for kids", "max_results": 5}
    before, live = await shop.ask(SEARCH, asked, "one")
    engine.mood = mood
    after, told = await shop.until(SEARCH, asked, NAME)
    assert (live["source"], told["source"]) == ("live", "fallback")
    ids = [[card["title_id"] for card in answer["results"]] for answer in (before, after)]
    assert ids[0] == ids[1] != []
    assert after["understood"] == before["understood"]
    assert after["results"][0]["price_jpy"] == before["results"][0]["price_jpy"] is not None
    stock, _ = await shop.ask("check_inventory", {}, "two")
    assert stock, "what the standby showed is what the conversation goes on with"
    engine.mood = Mood.WORKS
    _, told = await shop.until(SEARCH, asked, None)
    assert told["source"] == "live"


async def test_readyz_and_metrics_show_the_standby(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as (shop, _):
        await shop.until_loaded()
        state = await shop.standby()
        metrics = (await ask(shop.port, "GET", "/metrics")).body.decode()
    assert state["detail"].startswith("261 titles (full), 0.0 h old, sha256 ")
    assert "manga_standby_titles{" in metrics
    assert "manga_standby_made_seconds 1." in metrics
    assert "manga_standby_refused_total 0.0" in metrics


async def test_server_starts_without_waiting_for_a_bundle(tmp_path: Path) -> None:
    """No bundle exists: the server serves, and reports that."""
    settings = Settings(standby="full", standby_url=(tmp_path / "nowhere").as_uri())
    async with in_process(settings=settings) as here:
        shop = Shop(here.port)
        assert (await shop.ask(SEARCH, {"query": "berserk"}, "one"))[1]["source"] == "live"
        assert (await shop.standby())["state"] == "down"
