"""Where a text names something that can be wanted or unwanted, and the catalogue's tags that carry it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tools.store.search.query.aversions import Aversion, Kind, aversions
from tools.store.search.query.themes import fold, is_word
from tools.store.search.text.characters import has_cjk, to_hiragana
from tools.store.search.text.tokens import stem

_LATIN_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_TIGHT = re.compile(r"['-]? ?")
_MOST_WORDS = 3
_DENIED = re.compile("以外|抜き|無し|除外|不要|禁止|苦手")
"""Words of two characters that begin after a word of one: 侍以外."""
_MIDDLE_DOT = str.maketrans("・", " ")


@dataclass(frozen=True, slots=True)
class Named:
    """`text[start:end]` names these tags (none where the catalogue has no tag for it)."""

    start: int
    end: int
    aversion: Aversion

    @property
    def unpleasant(self) -> bool:
        return self.aversion.kind is Kind.UNPLEASANT


class Vocabulary:
    """Phrases that stand for tags of a catalogue. Made once for each state of the catalogue's terms; safe to share.

    `_sizes`: for each first letter of a Japanese phrase how long such phrases are, the longest first.
    """

    def __init__(self, phrases: Mapping[str, Aversion]) -> None:
        self._phrases = phrases
        self._sizes: dict[str, tuple[int, ...]] = {}
        for phrase in sorted(filter(has_cjk, phrases), key=len, reverse=True):
            sizes = self._sizes.get(phrase[0], ())
            self._sizes[phrase[0]] = sizes if len(phrase) in sizes else (*sizes, len(phrase))

    @classmethod
    def of(cls, tags: Iterable[str]) -> Vocabulary:
        """The shipped phrases, limited to these tags of a catalogue, and the tags' own names."""
        known = frozenset(tags)
        table = {phrase: _limited(meant, known) for phrase, meant in aversions().items()}
        return cls({fold(tag): Aversion((tag,)) for tag in known} | table)

    @classmethod
    def shipped(cls) -> Vocabulary:
        """Of a catalogue that is not known: every phrase keeps every tag."""
        return cls(aversions())

    def named(self, text: str) -> tuple[Named, ...]:
        """What a normalised text names, in its order, the longest phrase at each place."""
        found = [*self._latin(text), *(self._japanese(text) if has_cjk(text) else ())]
        return tuple(sorted(found, key=lambda each: each.start))

    def _latin(self, text: str) -> Iterable[Named]:
        words = list(_LATIN_WORD.finditer(text))
        stems = [stem(word[0]) for word in words]
        i = 0
        while i < len(words):
            run = _run(text, words, i)
            size = next((n for n in range(run, 0, -1) if " ".join(stems[i : i + n]) in self._phrases), 0)
            if size:
                phrase = " ".join(stems[i : i + size])
                yield Named(words[i].start(), words[i + size - 1].end(), self._phrases[phrase])
            i += max(1, size)

    def _japanese(self, text: str) -> Iterable[Named]:
        apart = _DENIED.sub("  ", text.translate(_MIDDLE_DOT))
        folded = to_hiragana(apart)
        i = 0
        while i < len(folded):
            ends = (i + size for size in self._sizes.get(folded[i], ()) if i + size <= len(folded))
            end = next(
                (end for end in ends if folded[i:end] in self._phrases and is_word(apart, i, min(end, len(folded)))), 0
            )
            if end:
                yield Named(i, end, self._phrases[folded[i:end]])
            i = max(i + 1, end)


def _run(text: str, words: list[re.Match[str]], first: int) -> int:
    """How many words from the first stand together, with a space or a hyphen between them, up to the longest phrase."""
    size = 1
    while size < _MOST_WORDS and first + size < len(words):
        if not _TIGHT.fullmatch(text, words[first + size - 1].end(), words[first + size].start()):
            break
        size += 1
    return size


def _limited(meant: Aversion, known: frozenset[str]) -> Aversion:
    kept = [tuple(tag for tag in tags if tag in known) for tags in (meant.tags, meant.also)]
    return replace(meant, tags=kept[0], also=kept[1])
