"""Whether an asked name is an author's: any order, any script, Hepburn variants folded."""

from __future__ import annotations

from tools.models import Author
from tools.search.romaji import sound, sound_key
from tools.search.text import has_kanji, normalise


def author_keys(author: Author) -> tuple[frozenset[str], tuple[str, ...]]:
    """The Latin parts of the name by sound, and its whole spellings without spaces (kanji, kana read aloud, Latin)."""
    parts = sound(author.name).split()
    spellings = [sound_key(n) for n in (author.name_ja, author.name_kana) if n]
    straight, turned = "".join(parts), "".join(reversed(parts))
    return frozenset(parts), tuple(dict.fromkeys([*spellings, sound_key(straight), sound_key(turned)]))


def is_author(asked: str, author: Author) -> bool:
    """Whether all parts of `asked` are parts of this one name.

    'Miura Kentarou', 'kentaro miura', 'Miura', '三浦建太郎' and 'みうらけんたろう' are all "Miura, Kentarou".
    Kanji has no spaces to part by: a kanji part must begin or end the written name, and alone be two characters or more.
    """
    keys = author_keys(author)
    asked_parts = sound(asked).split()
    if not asked_parts:
        return False
    return sound_key(asked) in keys[1] or all(_is_part(part, original, keys) for part, original in _with_script(asked))


def _with_script(asked: str) -> list[tuple[str, bool]]:
    """Each part of the asked name by sound, and whether it has kanji."""
    separated = normalise(asked).replace("・", " ").replace("=", " ").replace(",", " ")
    return [(part, has_kanji(word)) for word in separated.split() for part in sound(word).split()]


def _is_part(part: str, kanji: bool, keys: tuple[frozenset[str], tuple[str, ...]]) -> bool:
    parts, spellings = keys
    if part in parts:
        return True
    return kanji and len(part) >= 2 and any(s.startswith(part) or s.endswith(part) for s in spellings)
