"""Vectors of the embedded catalogue: computed in the background, kept on disk, never needed to answer."""

from __future__ import annotations

import json
from pathlib import Path

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.embedded import RECORDS, WordEmbedder, ids, search
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.failures import DependencyFailure
from tools.store.models import CatalogQuery, Conditions


async def test_catalogue_is_searched_without_vectors_until_they_are_computed(file: Path) -> None:
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


async def test_slow_embedder_costs_only_the_vector_scores(file: Path) -> None:
    embedder = WordEmbedder()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        await catalog.wait_for_vectors()
        embedder.gate.clear()
        page = await catalog.search(CatalogQuery("Dragon Parfait", Conditions(), 5), Deadline.after(0.4))
        assert (ids(page.titles)[0], page.degraded) == (3, ("vector",))


async def test_failing_embedder_costs_only_the_vector_scores(file: Path) -> None:
    embedder = WordEmbedder()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        await catalog.wait_for_vectors()
        embedder.failures.append(DependencyFailure("down"))
        assert (await search(catalog, "dragon")).degraded == ("vector",)
        assert (await search(catalog, "parfait")).degraded == ()


async def test_query_is_embedded_once_across_spellings(file: Path) -> None:
    embedder = WordEmbedder()
    async with EmbeddedCatalog.open(file, embedder) as catalog:
        await catalog.wait_for_vectors()
        for text in ("dragon cafe", "Dragon  Cafe", "ｄｒａｇｏｎ cafe"):
            await search(catalog, text)
        assert embedder.asked.count("dragon cafe") == 1


async def test_stored_vectors_are_reused_and_not_computed_again(file: Path, tmp_path: Path) -> None:
    async with EmbeddedCatalog.open(file, WordEmbedder(), cache_dir=tmp_path / "kept") as catalog:
        await catalog.wait_for_vectors()
        before = await search(catalog, "sailors and letters")
    again = WordEmbedder()
    async with EmbeddedCatalog.open(file, again, cache_dir=tmp_path / "kept") as catalog:
        await catalog.wait_for_vectors()
        assert await search(catalog, "sailors and letters") == before
    assert again.asked == ["warm up", "sailors and letters"]


@cases("damage", ["truncate", "garbage", "flip", "other"])
async def test_damaged_cache_file_is_rebuilt(file: Path, tmp_path: Path, damage: str) -> None:
    kept = tmp_path / "kept"
    async with EmbeddedCatalog.open(file, WordEmbedder(), cache_dir=kept) as catalog:
        await catalog.wait_for_vectors()
        before = await search(catalog, "paper lighthouse")
    files = sorted(kept.iterdir())
    assert [f.suffix for f in files] == [".npz", ".npy"]
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


async def test_files_stored_for_another_catalogue_are_not_used(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    async with EmbeddedCatalog.open(file, None, cache_dir=kept):
        pass
    file.write_text(json.dumps(RECORDS[4]))
    async with EmbeddedCatalog.open(file, None, cache_dir=kept) as catalog:
        assert (await search(catalog, "Monochrome")).total == 1
        assert (await search(catalog, "Paper Lighthouse")).total == 0
    assert len(list(kept.iterdir())) == 2


async def test_unwritable_cache_folder_is_no_failure(file: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a no folder")
    async with EmbeddedCatalog.open(file, None, cache_dir=blocked) as catalog:
        assert (await search(catalog, "Monochrome")).total == 1
