"""A small catalogue as the embedded backend reads it, and an embedder that knows words alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.failures import TimedOut
from tools.store.models import CatalogPage, CatalogQuery, Conditions, Title

LATER = Deadline.after(3600)


def author(name: str, ja: str | None = None, kana: str | None = None) -> dict[str, Any]:
    return {"name": name, "name_ja": ja, "name_kana": kana, "role": "Story & Art"}


HOSHINO = author("Hoshino, Mio", "星野澪", "ホシノミオ")
KURODA = author("Kuroda, Shuuji", "黒田修司", "クロダシュウジ")


def record(number: int, romaji: str, **fields: Any) -> dict[str, Any]:
    title = {"romaji": romaji, "en": fields.pop("en", None), "ja": fields.pop("ja", None), "kana": fields.pop("kana", None)}
    return {"title_id": f"manga-{number:06}", "title": title, **fields}


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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.jsonl"
    path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in RECORDS), encoding="utf-8")
    return path


def ids(titles: Sequence[Title]) -> list[int]:
    return [int(t.title_id.removeprefix("manga-")) for t in titles]


async def search(catalog: EmbeddedCatalog, text: str, limit: int = 10, **filters: Any) -> CatalogPage:
    return await catalog.search(CatalogQuery(text, Conditions(**filters), limit), LATER)
