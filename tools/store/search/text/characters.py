"""Normalises characters (width, case, diacritics, kana), and detects the script of a text."""

from __future__ import annotations

import re
import unicodedata

_TO_HIRAGANA = {code: code - 0x60 for code in (*range(0x30A1, 0x30F7), 0x30FD, 0x30FE)}
CJK = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af々〆ー"
"""The characters of Japanese, Chinese and Korean, as the inside of a pattern's brackets."""
_CJK = re.compile(f"[{CJK}]")
_KANA_ONLY = re.compile(r"[\u3041-\u30ff\s・、。!?！？〜~\-]+")
_KANJI = re.compile(r"[\u3400-\u9fff\uf900-\ufaff々]")
# A look-behind instead of a group: a replacement with a group reference calls a function per match.
_COMBINING_LATIN = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_SPACES = re.compile(r"\s+")
_QUOTE = re.compile("[’‘`“”–—―‐−]")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": "-", "―": "-", "‐": "-", "−": "-"})


def normalise(text: str) -> str:
    """Returns the text in NFKC, casefolded, with plain quotes and dashes, single spaces, and Latin letters without
    diacritics. The voicing marks of kana are kept, since が and か are different letters."""
    if text.isascii():
        return " ".join(text.lower().replace("`", "'").split())
    folded = unicodedata.normalize("NFKC", text).casefold()
    if _QUOTE.search(folded):  # most texts have none, and translating takes ten times as long as a search
        folded = folded.translate(_QUOTES)
    if not folded.isascii():
        apart = unicodedata.normalize("NFD", folded)
        plain = _COMBINING_LATIN.sub("", apart)
        if plain != apart or not unicodedata.is_normalized("NFC", folded):  # composing kana takes long
            folded = unicodedata.normalize("NFC", plain)
    return _SPACES.sub(" ", folded).strip()


def to_hiragana(text: str) -> str:
    """Converts katakana to hiragana. Other characters stay, the long-vowel mark included."""
    return text.translate(_TO_HIRAGANA)


def has_cjk(text: str) -> bool:
    return _CJK.search(text) is not None


def has_kanji(text: str) -> bool:
    return _KANJI.search(text) is not None


def is_kana(text: str) -> bool:
    """Returns True if `text` is kana, spaces and punctuation only, so that reading it aloud needs no dictionary."""
    return _KANA_ONLY.fullmatch(text) is not None
