"""Builds the table from its sources: written forms, their readings with costs, and English index terms."""

from __future__ import annotations

import gzip
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from infra.japanese.alignment import KANJI, Aligner, plain
from infra.japanese.sources import Edrdg, names
from tools.store.search.text.characters import normalise, to_hiragana
from tools.store.search.text.readings import LONGEST

Counts = dict[str, Counter[str]]
_MOST_READINGS, _SIZES = 10, (1, 2, 3)
_PEOPLE, _TITLES, _WORDS, _KNOWN = 1.0, 0.5, 0.3, 0.2
"""Weight of one occurrence, by source; `_KNOWN` is for a reading that occurs nowhere."""
_FEWEST = {_PEOPLE: 1, _TITLES: 3}
"""Least occurrences of a part of several characters, by the source's weight."""
_WORD_COST = 15
_ENDING = re.compile(r"[うくぐすつぬぶむるい]$")


def readings(edrdg: Edrdg, people: Mapping[str, str], titles: Mapping[str, str]) -> dict[str, dict[str, int]]:
    known = edrdg.kanji()
    aligner = Aligner(known)
    single: Counts = defaultdict(Counter)
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for weight, source in ((_PEOPLE, people.items()), (_TITLES, titles.items()), (_WORDS, edrdg.read())):
        parts = _count(aligner, source, found)
        for part, counted in parts.items():
            if len(part) == 1:
                single[part].update({read: weight * n for read, n in counted.items()})
            elif weight in _FEWEST and (total := counted.total()) >= _FEWEST[weight]:
                for read, n in counted.items():
                    _keep(found[part], read, _cost(n / total) - 12)
    for kanji, counted in single.items():
        counted.update(dict.fromkeys(known.get(kanji, ()), _KNOWN))
        for read, n in counted.most_common(_MOST_READINGS):
            _keep(found[kanji], read, _cost(n / counted.total()))
    for written, read in edrdg.read():
        if 1 < len(plain(written)) <= LONGEST:
            _keep(found[plain(written)], plain(read), _WORD_COST)
    return found


def _count(aligner: Aligner, source: Iterable[tuple[str, str]], whole: dict[str, dict[str, int]]) -> Counts:
    """Counts the readings of each part of a word, of up to three characters. Adds words that do not align to `whole`."""
    counts: Counts = defaultdict(Counter)
    for written, read in ((plain(a), plain(b)) for a, b in source):
        if not KANJI.search(written):
            continue
        units = aligner.align(written, read)
        if units is None:
            if 1 < len(written) <= LONGEST and len(read) > len(written):
                _keep(whole[written], read, 0)
            continue
        for part in (units[i : i + n] for n in _SIZES for i in range(len(units) - n + 1)):
            if any(KANJI.match(character) for character, _ in part):
                counts["".join(w for w, _ in part)]["".join(r for _, r in part)] += 1
    return counts


def _cost(share: float) -> int:
    return round(-10 * math.log(share))


def _keep(costs: dict[str, int], read: str, cost: int) -> None:
    costs[read] = min(cost, costs.get(read, cost))


def english(edrdg: Edrdg) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for text, inflected, terms in edrdg.meant():
        written = to_hiragana(normalise(text))
        keys = {written}
        if inflected and _ENDING.search(written) and KANJI.search(written[:-1]):
            keys.add(written[:-1])
        for key in keys if len(written) <= LONGEST else ():
            found[key].update(dict.fromkeys(terms))
    return found


def main() -> None:
    database, madb, target = map(Path, sys.argv[1:4])
    edrdg = Edrdg(database)
    read, meant = readings(edrdg, *names(madb)), english(edrdg)
    rows = []
    for written in sorted(read.keys() | meant.keys()):
        told = " ".join(f"{kana}:{cost}" for kana, cost in sorted(read.get(written, {}).items(), key=lambda each: each[1]))
        rows.append(f"{written}\t{told}\t{' '.join(list(meant.get(written, ()))[:8])}")
    target.write_bytes(gzip.compress("\n".join(rows).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
