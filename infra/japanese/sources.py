"""Data sources: JMdict and KANJIDIC2 in jamdict-data's SQLite database, and names of the Media Arts Database."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.store.search.text.characters import to_hiragana
from tools.store.search.text.tokens import words

_KATAKANA = re.compile(r"[\u30a1-\u30fcー]{2,}")
_RARE = {"archaism", "obsolete term", "obscure term", "vulgar expression or word"}
_AFFIXES = {"suffix", "noun, used as a suffix", "prefix", "noun, used as a prefix", "counter"}
_SENSES, _GLOSSES, _WORDS_OF_A_GLOSS, _WORDS = 2, 3, 3, 6
_BRACKETS, _TO = re.compile(r"\([^)]*\)"), re.compile(r"^to (?:be |become |get )?")


class Edrdg:
    """Dictionaries of the Electronic Dictionary Research and Development Group: JMdict and KANJIDIC2."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path)
        self._senses = self._lists("SELECT idseq, ID FROM Sense ORDER BY ID")
        self._misc = self._lists("SELECT sid, text FROM misc")
        self._pos = self._lists("SELECT sid, text FROM pos")
        self._glosses = self._lists("SELECT sid, text FROM SenseGloss")

    def kanji(self) -> dict[str, set[str]]:
        """Returns the readings of each kanji, including those in names, without okurigana."""
        found: dict[str, set[str]] = defaultdict(set)
        readings = (
            "SELECT c.literal, r.value FROM character c JOIN rm_group g ON g.cid = c.ID JOIN reading r ON r.gid = g.ID"
        )
        names = "SELECT c.literal, n.value FROM character c JOIN nanori n ON n.cid = c.ID"
        for query in (f"{readings} WHERE r.r_type IN ('ja_on', 'ja_kun')", names):
            for literal, value in self._db.execute(query):
                found[literal].add(to_hiragana(value).replace("-", "").split(".")[0])
        return found

    def read(self) -> Iterator[tuple[str, str]]:
        """Yields each common word in kanji with each of its readings."""
        common = "SELECT DISTINCT kid FROM KJP"
        yield from self._db.execute(
            f"SELECT k.text, n.text FROM Kanji k JOIN Kana n ON n.idseq = k.idseq WHERE k.ID IN ({common})"
        )

    def meant(self) -> Iterator[tuple[str, bool, list[str]]]:
        """Yields common words in kanji or katakana, each with whether it is inflected, and with its English index terms."""
        for idseq, text in self._db.execute("SELECT idseq, text FROM Kanji WHERE ID IN (SELECT kid FROM KJP)"):
            yield text, self._inflected(idseq), self._english(idseq)
        for idseq, text in self._db.execute("SELECT idseq, text FROM Kana WHERE ID IN (SELECT kid FROM KNP)"):
            if _KATAKANA.fullmatch(text):
                yield text, False, self._english(idseq)

    def _english(self, idseq: int) -> list[str]:
        usual = [s for s in self._senses[idseq] if not _RARE & set(self._misc[s]) and not set(self._pos[s]) & _AFFIXES]
        told = [_TO.sub("", _BRACKETS.sub("", g).strip()) for s in usual[:_SENSES] for g in self._glosses[s][:_GLOSSES]]
        terms = [each for each in map(words, told) if len(each) <= _WORDS_OF_A_GLOSS]
        return list(dict.fromkeys(term for each in terms for term in each))[:_WORDS]

    def _inflected(self, idseq: int) -> bool:
        kinds = {kind for sense in self._senses[idseq] for kind in self._pos[sense]}
        return any(k.startswith(("Godan verb", "Ichidan verb", "adjective (keiyoushi)")) for k in kinds)

    def _lists(self, query: str) -> dict[int, list]:  # type: ignore[type-arg]
        found: dict[int, list] = defaultdict(list)  # type: ignore[type-arg]
        for key, value in self._db.execute(query):
            found[key].append(value)
        return found


def names(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the readings of the Media Arts Database's authors, and of its titles, by Japanese name."""
    people: dict[str, str] = {}
    titles: dict[str, str] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            for kind in ("creators", "original_creators"):
                if len(row[kind]) == len(row[f"{kind}_kana"]):
                    people.update(zip(row[kind], row[f"{kind}_kana"], strict=True))
            if row["title_ja"] and row["title_kana"]:
                titles[row["title_ja"]] = row["title_kana"]
    return people, titles
