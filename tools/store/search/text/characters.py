"""Normalises characters (width, case, diacritics, kana), and tells which script a text is in."""

from __future__ import annotations

import re
import unicodedata

_TO_HIRAGANA = {code: code - 0x60 for code in (*range(0x30A1, 0x30F7), 0x30FD, 0x30FE)}
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af々〆ー]")
_KANA_ONLY = re.compile(r"[\u3041-\u30ff\s・、。!?！？〜~\-]+")
_KANJI = re.compile(r"[\u3400-\u9fff\uf900-\ufaff々]")
# A look-behind, not a group: a replacement that refers to a group runs a function for each match.
_COMBINING_LATIN = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_SPACES = re.compile(r"\s+")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": "-", "―": "-", "‐": "-", "−": "-"})


def normalise(text: str) -> str:
    """Normalises a text: NFKC, casefolded, one kind of quote and dash, single spaces, Latin letters without diacritics.

    The voicing marks of kana are kept: が is another letter than か, while people type e for é.
    """
    if text.isascii():
        return " ".join(text.lower().replace("`", "'").split())
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)
    if not folded.isascii():
        apart = _COMBINING_LATIN.sub("", unicodedata.normalize("NFD", folded))
        folded = unicodedata.normalize("NFC", apart)
    return _SPACES.sub(" ", folded).strip()


def to_hiragana(text: str) -> str:
    """Converts katakana to hiragana; everything else, the long-vowel mark included, stays."""
    return text.translate(_TO_HIRAGANA)


def has_cjk(text: str) -> bool:
    """True if any kana, kanji or hangul is in `text`."""
    return _CJK.search(text) is not None


def has_kanji(text: str) -> bool:
    return _KANJI.search(text) is not None


def is_kana(text: str) -> bool:
    """True if `text` is kana and punctuation only, so that it can be read aloud without a dictionary."""
    return _KANA_ONLY.fullmatch(text) is not None
