"""Author queries: one author's name in every script and wording; relevant are the works."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tests.quality.measure import Judged
from tests.quality.probes.folds import number, probe, sample
from tests.quality.probes.records import Record, is_hidden
from tools.store.search.text.characters import to_hiragana
from tools.store.search.text.romaji import sound_key

_AUTHORS, _KNOWN = 150, 400
_WORDINGS = ("{}", "{}の漫画", "{}先生の作品", "{}", "{}が描いた漫画", "{}の作品")


def author_probes(records: list[Record]) -> Iterator[Judged]:
    works, spelled, fame = _works(records)
    known = sorted((name for name in spelled if fame[name]), key=lambda name: (-fame[name], name))[:_KNOWN]
    for name in sample(known, _AUTHORS):
        kind = "author, not in the catalogue's script" if is_hidden(name) else "author"
        relevant = dict.fromkeys(works[name], 1)
        for query in _queries(name, spelled[name]):
            yield probe(kind, name, query, True, relevant)
        yield probe("author", name, " ".join(reversed(name.split(", "))).lower(), False, relevant)


def _queries(name: str, author: Mapping[str, Any]) -> Iterator[str]:
    wording = _WORDINGS[number(f"wording {name}") % len(_WORDINGS)]
    yield wording.format(author["name_ja"])
    if author.get("name_kana"):
        kana = author["name_kana"] if number(f"script {name}") % 5 == 0 else to_hiragana(author["name_kana"])
        yield wording.format(kana) if number(f"typo {name}") % 4 else _mistyped(kana)


def _mistyped(kana: str) -> str:
    """With two letters in the wrong order."""
    middle = len(kana) // 2
    return kana[: middle - 1] + kana[middle] + kana[middle - 1] + kana[middle + 1 :]


def _sounds_so(author: Mapping[str, Any]) -> bool:
    """Whether the reading is that of the Latin name: catalogues joined from two sources give some people another's."""
    parts = author["name"].split(", ")
    return sound_key(author.get("name_kana") or "") in {sound_key("".join(parts)), sound_key("".join(reversed(parts)))}


def _works(records: list[Record]) -> tuple[dict[str, list[str]], dict[str, Mapping[str, Any]], dict[str, int]]:
    """By name: the works, an author record with a name in Japanese, and how often the best known work was rated."""
    works: dict[str, list[str]] = defaultdict(list)
    spelled: dict[str, Mapping[str, Any]] = {}
    fame: dict[str, int] = defaultdict(int)
    for record in records:
        for author in record.get("authors", ()):
            name = author["name"]
            works[name].append(record["title_id"])
            fame[name] = max(fame[name], record.get("rating_count") or 0)
            if author.get("name_ja") and _sounds_so(author):
                spelled[name] = author
    return works, spelled, fame
