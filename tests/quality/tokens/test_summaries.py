"""The summary of a conversation of twenty calls is within 400 tokens by real tokenizers, in either language."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from session.history import MOST_CALLS, HistoryEntry, LastShown, Recollection
from tests.support.tokenizers import Tokenizers, tokenizers
from tools.results.history import MOST_TOKENS, summarise

NOW = 1_000_000.0
NAMES = {
    "en": [
        "Berserk",
        "Witch Hat Atelier",
        "Frieren: Beyond Journey's End",
        "That Time I Got Reincarnated as a Slime",
        "XXX",
    ],
    "ja": [
        "ベルセルク",
        "とんがり帽子のアトリエ",
        "葬送のフリーレン",
        "転生したらスライムだった件 異聞 〜魔国暮らしのトリニティ〜",
        "鬼",
    ],
}
WORDS = {
    "en": [
        "something like Berserk but finished",
        "for a ten-year-old who likes horses",
        "volume 43?",
        "under 600 yen a volume",
    ],
    "ja": ["完結している異世界もので10巻以内", "小学生の子供が読める冒険もの", "次の巻はいつ出ますか", "🐟の出てくる漫画"],
}
TOOLS = [
    "search_manga_catalog",
    "get_manga_details",
    "check_inventory",
    "find_volumes",
    "get_recommendations",
    "lookup_order",
]


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokenizers]:
    with tokenizers(tmp_path_factory.mktemp("tokenizers") / "log") as each:
        yield each


def conversation(draw: random.Random, language: str) -> Recollection:
    titles = [(f"manga-{draw.randrange(10**6):06}", draw.choice(NAMES[language])) for _ in range(20)]
    calls = tuple(
        HistoryEntry(
            tool=draw.choice(TOOLS),
            arguments={"without": ["Gore", "Horror"], "max_results": 5} if draw.random() < 0.3 else {},
            summary=draw.choice(["5 of 120 titles", "3 of 5 titles in stock", "order is in_transit", titles[number][1]]),
            succeeded=True,
            latency_ms=10,
            cache_hit=False,
            tokens=500,
            at=NOW - 37 * number,
            words=draw.choice(WORDS[language]),
            shown=tuple(draw.sample(titles, draw.randrange(1, 6))),
        )
        for number in range(MOST_CALLS)
    )
    shown = LastShown(tuple(i for i, _ in titles), tuple(name for _, name in titles), draw.choice(WORDS[language]))
    shared = {"title_id": titles[0][0], "title": titles[0][1], "order_id": "MNG-DEMO1001"}
    return Recollection(calls, {}, shown, shared)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_twenty_calls_fit_400_tokens_and_are_all_there(language: str, counted: Tokenizers) -> None:
    draw = random.Random(14)
    texts = [summarise(past, past.calls, NOW) for past in (conversation(draw, language) for _ in range(40))]
    assert all(len(text.split("\n")) >= 1 + MOST_CALLS for text in texts)
    most = {name: max(counts) for name, counts in counted.counts(texts).items()}
    assert len(most) >= 2
    assert max(most.values()) <= MOST_TOKENS, most
