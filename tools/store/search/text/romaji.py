"""Makes keys of names by their sound: kana, Hepburn, Kunrei and fan spellings of one name have the same key.

Kana are converted to Hepburn romaji. Then Latin text in any language is folded: long vowels (ou, oo, ō, oh), doubled
letters, m before b/p/m, Kunrei and Nihon-shiki syllables, the particle wo. After ISO 3602 and the usual Hepburn tables.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from tools.store.search.text.characters import normalise, to_hiragana

_ROWS = {
    "": "あいうえお", "k": "かきくけこ", "s": "さしすせそ", "t": "たちつてと", "n": "なにぬねの", "h": "はひふへほ",
    "m": "まみむめも", "r": "らりるれろ", "g": "がぎぐげご", "z": "ざじずぜぞ", "d": "だぢづでど", "b": "ばびぶべぼ",
    "p": "ぱぴぷぺぽ",
}  # fmt: skip
_SINGLES = {
    "や": "ya", "ゆ": "yu", "よ": "yo", "わ": "wa", "ゐ": "i", "ゑ": "e", "を": "o", "ん": "n", "ゔ": "vu",
    "ぁ": "a", "ぃ": "i", "ぅ": "u", "ぇ": "e", "ぉ": "o", "ゃ": "ya", "ゅ": "yu", "ょ": "yo", "ゎ": "wa",
    "し": "shi", "ち": "chi", "つ": "tsu", "ふ": "fu", "じ": "ji", "ぢ": "ji", "づ": "zu",
}  # fmt: skip
_LOANS = {
    "うぃ": "wi", "うぇ": "we", "うぉ": "wo", "ゔぁ": "va", "ゔぃ": "vi", "ゔぇ": "ve", "ゔぉ": "vo", "いぇ": "ye",
    "ふぁ": "fa", "ふぃ": "fi", "ふぇ": "fe", "ふぉ": "fo", "てぃ": "ti", "でぃ": "di", "とぅ": "tu", "どぅ": "du",
    "しぇ": "she", "じぇ": "je", "ちぇ": "che", "てゅ": "tyu", "でゅ": "dyu", "くぁ": "kwa",
    "つぁ": "tsa", "つぃ": "tsi", "つぇ": "tse", "つぉ": "tso",
}  # fmt: skip
_Y_HEADS = {"し": "sh", "ち": "ch", "じ": "j", "ぢ": "j"}


def _build_table() -> dict[str, str]:
    table = {kana: head + vowel for head, row in _ROWS.items() for kana, vowel in zip(row, "aiueo", strict=True)}
    table |= _SINGLES
    for head, row in _ROWS.items():
        i_kana = row[1]
        stem = _Y_HEADS.get(i_kana, head + "y")
        if head:
            table |= {i_kana + small: stem + vowel for small, vowel in zip("ゃゅょ", "auo", strict=True)}
    return table | _LOANS


_TABLE = _build_table()
_KANA = re.compile(r"[\u3041-\u3096ー]+")
_FOLDS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"['’]", ""),
        (r"\bwo\b", "o"),
        (r"oh(?![aiueoy])", "o"),
        (r"(?:ou|oo)", "o"),
        (r"uu", "u"),
        (r"(?:ei|ee)", "e"),
        (r"sy(?=[auo])", "sh"),
        (r"[tc]y(?=[auo])", "ch"),
        (r"(?:zy|jy|dy)(?=[auo])", "j"),
        (r"(?<![sc])si", "shi"),
        (r"ti", "chi"),
        (r"(?<!t)tu", "tsu"),
        (r"[zd]i", "ji"),
        (r"(?<![sc])hu", "fu"),
        (r"m(?=[bpm])", "n"),
        (r"tch", "ch"),
        (r"([a-z])\1+", r"\1"),
    )
)
_NOT_KEY = re.compile(r"[^\w]|_")
_LEFT_LETTER = re.compile("(?<=[\u3041-\u30fc])(?:([kstnhmrgzdbp])([あいうえお])|n(?=[\u3041-\u30fc]))")
_LEFT_MARK = re.compile(" ?([\u3099\u309a])")
_VOWELS = "あいうえお"


def mend_kana(text: str) -> str:
    """Completes syllables of a normalised text that an input method left in pieces: まnが, まdえ, まんか゛."""
    if text.isascii():
        return text
    joined = unicodedata.normalize("NFC", _LEFT_MARK.sub(r"\1", text))
    return _LEFT_LETTER.sub(lambda left: _ROWS[left[1]][_VOWELS.index(left[2])] if left[1] else "ん", joined)


def to_romaji(text: str) -> str:
    """Converts kana to Hepburn romaji: long marks are dropped, a small tsu doubles the consonant. Other characters stay."""
    return _KANA.sub(lambda m: _read(m.group()), to_hiragana(text))


def _read(kana: str) -> str:
    out: list[str] = []
    i, double = 0, False
    while i < len(kana):
        if kana[i] in "っー":
            double, i = kana[i] == "っ", i + 1
            continue
        size = 2 if kana[i : i + 2] in _TABLE else 1
        syllable = _TABLE.get(kana[i : i + size], "")
        out.append(syllable[:1] + syllable if double and syllable[:1] not in "aiueo" else syllable)
        i, double = i + size, False
    return "".join(out)


@lru_cache(maxsize=4_096)
def sound(text: str) -> str:
    """Returns the words of `text` as they sound, in lower-case Latin letters with single spaces. Kanji and hangul stay as
    they are."""
    folded = to_romaji(normalise(text))
    for pattern, replacement in _FOLDS:
        folded = pattern.sub(replacement, folded)
    return " ".join(_NOT_KEY.sub(" ", folded).split())


def sound_key(text: str) -> str:
    """Returns `sound` without spaces and doubled letters: the key that all spellings of one name share. Example:
    'しんげきのきょじん', 'Shingeki no Kyojin' and 'SHINGEKI NO KYOZIN' all give 'shingekinokyojin'."""
    folded = sound(text).replace(" ", "")
    return re.sub(r"([a-z])\1+", r"\1", folded)


_KATAKANA = re.compile(r"[\u30a1-\u30fcー・\s!?0-9]+")
_LOANWORDS_FOLDS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[^a-z0-9]", ""),
        (r"([a-z])\1+", r"\1"),
        (r"ph", "f"),
        (r"th", "s"),
        (r"ck|q", "k"),
        (r"c(?=[eiy])", "s"),
        (r"c(?!h)", "k"),
        (r"x", "ks"),
        (r"sh", "s"),
        (r"r(?![aeiouy])", ""),
        (r"l", "r"),
        (r"v", "b"),
        (r"m(?=[bp])", "n"),
        (r"ts", "t"),
        (r"[aeiouyw]", ""),
        (r"(?<=.)h(?=.|$)", lambda m: "h" if m.string[m.start() - 1] == "c" else ""),
    )
)
MIN_CONSONANTS = 3


def is_loanword(text: str) -> bool:
    """Returns True if `text` is at least three characters of katakana, spaces, digits, !, ? and ・."""
    folded = normalise(text)
    return len(folded) >= 3 and _KATAKANA.fullmatch(folded) is not None


def consonants(text: str) -> str:
    """Returns the consonants of a katakana or Latin text, folded so that a loanword and its original are equal. Results
    shorter than `MIN_CONSONANTS` prove nothing."""
    folded = to_romaji(normalise(text))
    for pattern, replacement in _LOANWORDS_FOLDS:
        folded = pattern.sub(replacement, folded)
    return folded
