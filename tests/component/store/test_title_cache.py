"""Titles read from an index are cached while hits come from that index, within a bounded size."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.wrong_opensearch import answers, packed, serving
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.client import Client, MalformedAnswer
from tools.store.backends.opensearch.documents import document
from tools.store.backends.opensearch.state import HitKey, TitleCache, hit_key, hit_keys
from tools.store.failures import DependencyFailure
from tools.store.models import Title
from tools.store.records.catalog_file import record_of

TITLES = {name: Title(name, en=f"Harbour {name}", tags=("Drama",)) for name in "abcdef"}


@dataclass
class Index:
    """Behind an alias: titles by id. `asked`: the ids of each request; `wrong`: what hits have in place of their columns."""

    name: str = "one"
    titles: dict[str, Title] = field(default_factory=lambda: dict(TITLES))
    asked: list[list[str]] = field(default_factory=list)
    away: bool = False
    wrong: dict[str, list[str]] | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.away:
            return web.Response(status=503)
        body = json.loads((await request.text()).splitlines()[1])
        ids = body["query"]["bool"]["must"][0]["terms"]["title_id"]
        self.asked.append(ids)
        assert body["size"] == len(ids)
        hits = [{"_index": self.name, "fields": self._columns(i)} for i in reversed(ids) if i in self.titles]
        return web.json_response(answers(*hits))

    def _columns(self, title_id: str) -> dict[str, list[str]]:
        made = document(self.titles[title_id], (), 0, (), None)
        return {"title_id": [title_id], "card": [made["card"]], "packed": [made["packed"]]} | (self.wrong or {})


@asynccontextmanager
async def shelf_of(index: Index, capacity: int = 100) -> AsyncIterator[TitleCache]:
    with ThreadPoolExecutor(1) as workers:
        async with serving(index.answer) as url:
            client = Client(OpenSearchAddress.parse(url))
            try:
                yield TitleCache(client, workers, capacity)
            finally:
                await client.aclose()


def at(ids: str, index: str = "one") -> list[HitKey]:
    return [(index, title_id) for title_id in ids]


def soon() -> Deadline:
    return Deadline.after(5)


async def test_cached_titles_are_not_fetched_and_missing_ones_in_one_request() -> None:
    index = Index()
    async with shelf_of(index) as shelf:
        assert list(await shelf.fetch_entries(at("ba"), soon())) == ["b", "a"], "in the order of the hits"
        assert list(await shelf.fetch_entries(at("cabad"), soon())) == ["c", "a", "b", "d"]
        assert await shelf.fetch_entries(at("dcba"), soon())
        assert await shelf.fetch_entries([], soon()) == {}
    assert index.asked == [["b", "a"], ["c", "d"]]


async def test_cache_entry_has_the_title_and_card_of_the_index() -> None:
    async with shelf_of(Index()) as shelf:
        entry = (await shelf.fetch_entries(at("a"), soon()))["a"]
    assert record_of(entry.title) == record_of(TITLES["a"])
    assert entry.title is entry.title, "unpacked once"
    assert entry.card.facts.tags == {"Drama"}


async def test_title_cache_is_bounded_and_keeps_the_last_used() -> None:
    index = Index()
    async with shelf_of(index, capacity=2) as shelf:
        assert set(await shelf.fetch_entries(at("abc"), soon())) == set("abc"), "what one search needs it gets"
        index.asked.clear()
        await shelf.fetch_entries(at("b"), soon())
        await shelf.fetch_entries(at("d"), soon())
        await shelf.fetch_entries(at("b"), soon())
        assert index.asked == [["d"]]
        await shelf.fetch_entries(at("c"), soon())
        assert index.asked == [["d"], ["c"]]


async def test_cache_entries_of_another_index_are_not_used() -> None:
    index = Index()
    async with shelf_of(index) as shelf:
        await shelf.fetch_entries(at("a"), soon())
        index.name, index.titles = "two", {"a": Title("a", en="Another"), "b": TITLES["b"]}
        assert (await shelf.fetch_entries(at("a", "two"), soon()))["a"].title.en == "Another"
        assert (await shelf.fetch_entries(at("b"), soon()))["b"].title.en == "Harbour b", (
            "moved between the hits and this: by its id"
        )


async def test_missing_title_is_left_out_and_fetched_again() -> None:
    index = Index()
    del index.titles["b"]
    async with shelf_of(index) as shelf:
        assert list(await shelf.fetch_entries(at("abc"), soon())) == ["a", "c"]
        await shelf.fetch_entries(at("abc"), soon())
    assert index.asked == [["a", "b", "c"], ["b"]]


async def test_cached_titles_are_served_while_the_cluster_is_away() -> None:
    index = Index()
    async with shelf_of(index) as shelf:
        await shelf.fetch_entries(at("a"), soon())
        index.away = True
        assert await shelf.fetch_entries(at("a"), soon())
        with pytest.raises(DependencyFailure):
            await shelf.fetch_entries(at("ab"), soon())
        index.away = False
        assert list(await shelf.fetch_entries(at("ab"), soon())) == ["a", "b"]


@cases("wrong", [{"card": ["e30"]}, {"card": ["\ud800"]}, {"card": []}, {"packed": []}, {"title_id": []}])
async def test_malformed_columns_are_not_cached(wrong: dict[str, list[str]]) -> None:
    index = Index(wrong=wrong)
    async with shelf_of(index) as shelf:
        with pytest.raises((LookupError, TypeError, ValueError, DependencyFailure)):
            await shelf.fetch_entries(at("a"), soon())
        index.wrong = None
        assert (await shelf.fetch_entries(at("a"), soon()))["a"].title == TITLES["a"]


async def test_malformed_record_fails_when_its_title_is_read() -> None:
    async with shelf_of(Index(wrong={"packed": [packed({"title_id": "a"})]})) as shelf:
        entry = (await shelf.fetch_entries(at("a"), soon()))["a"]
        with pytest.raises(MalformedAnswer):
            _ = entry.title


def test_hit_keys_are_index_and_title_id() -> None:
    hit = {"_index": "one", "fields": {"title_id": ["a"]}}
    assert hit_key(hit) == ("one", "a")
    assert hit_keys([{"hits": {"hits": [hit]}}, {"hits": {"hits": []}}]) == [("one", "a")]
    with pytest.raises(LookupError):
        hit_key({"fields": {"title_id": ["a"]}})
