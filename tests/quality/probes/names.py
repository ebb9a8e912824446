"""Titles asked for in Japanese script whose catalogue record has Latin names only."""

from __future__ import annotations

from collections.abc import Iterator

from tests.quality.measure import Judged
from tests.quality.probes.folds import probe, sample
from tests.quality.probes.records import Record, is_hidden
from tools.store.search.text.characters import to_hiragana

_TITLES, _KNOWN = 120, 1500


def name_probes(records: list[Record]) -> Iterator[Judged]:
    known = sorted(records, key=lambda record: -(record.get("rating_count") or 0))
    asked = {r["title"]["romaji"]: r for r in known if r["title"].get("ja") and r["title"].get("romaji")}
    for romaji in sample(list(asked)[:_KNOWN], _TITLES):
        record = asked[romaji]
        kind = "name, not in the catalogue's script" if is_hidden(romaji) else "name"
        relevant = {record["title_id"]: 3}
        yield probe(kind, romaji, record["title"]["ja"], True, relevant)
        if record["title"].get("kana"):
            yield probe(f"{kind}, kana", romaji, to_hiragana(record["title"]["kana"]), True, relevant)
