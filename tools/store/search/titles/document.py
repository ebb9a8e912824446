"""A title as the terms an engine indexes."""

from __future__ import annotations

from collections.abc import Iterator

from tools.store.models import Title
from tools.store.search.text.characters import has_cjk
from tools.store.search.text.tokens import words

TAG_WEIGHT, NAME_WEIGHT, TEXT_WEIGHT = 2.0, 1.5, 1.0
_PASSAGE = 330


def prose_terms(title: Title) -> dict[str, float]:
    """Terms of tags, names and synopses with weighted frequencies: what a description is matched against."""
    terms: dict[str, float] = {}
    for weight, texts in (
        (TAG_WEIGHT, title.tags),
        (NAME_WEIGHT, (title.en, title.romaji, title.ja)),
        (TEXT_WEIGHT, (title.synopsis_en, title.synopsis_ja)),
    ):
        for term in (t for text in texts if text for t in words(text)):
            terms[term] = terms.get(term, 0.0) + weight
    return terms


def headline(title: Title) -> str:
    """One line that says what a title is, for a vector of its own: a name and the tags."""
    return f"{title.display}. {', '.join(title.tags)}"


def passages(title: Title) -> tuple[str, ...]:
    """The synopses in pieces of a few sentences, up to about 330 characters each (CJK counts threefold).

    A sentence encoder blurs a long text, and a query usually describes one turn of the story.
    """
    return tuple(p for text in (title.synopsis_en, title.synopsis_ja) if text for p in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    piece = ""
    for sentence in _sentences(text):
        if piece and _width(piece) + _width(sentence) > _PASSAGE:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
    if piece:
        yield piece


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for i, character in enumerate(text):
        if character in "。!?！？\n" or (character == "." and text[i + 1 : i + 2] in ("", " ", "\n")):
            if sentence := text[start : i + 1].strip():
                yield sentence
            start = i + 1
    if rest := text[start:].strip():
        yield rest


def _width(text: str) -> int:
    return len(text) * 3 if has_cjk(text) else len(text)
