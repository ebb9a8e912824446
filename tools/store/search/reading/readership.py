"""The readership that is asked for: shonen, seinen, shojo, josei, kodomo, "girls' manga", 女性向け.

It says for whom a magazine is made, which is a taste; how old its reader is, is `recipient`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.models import Conditions
from tools.store.search.reading.claim import Claim

_ALONE = r"(?!-| (?:no|wa|ga|wo|ni|de|tachi)\b)"
"""In romaji these are words of titles: "shoujo no", "kodomo wa"."""
_BEFORE = r"(?<!mahou )(?<! no )"
_WORK = r"(?: (?:mangas?|comics?|magazines?|series|titles?|books?|stories|demographic)\b)?"
_WORK_JA = "(?:漫画|マンガ|まんが|コミックス?|誌|向け(?:の)?(?:漫画|マンガ)?|作品)"
_GENRES = {
    "shonen": (
        rf"{_BEFORE}\bsh[o]u?nen\b{_ALONE}(?![ -]?ai\b){_WORK}|\bboys?'?s? (?:mangas?|comics?)\b"
        rf"|\b(?:mangas? )?for (?:teenage "
        rf"|teen )?boys\b(?!,? (?:aged?|under|who|of|\d))|少年{_WORK_JA}|男の子向け(?:の)?"
    ),
    "seinen": (
        rf"{_BEFORE}\bseinen\b{_ALONE}{_WORK}|\bmen'?s? (?:mangas?|comics?)\b|\b(?:aimed at|for) (?:adult "
        rf"|grown[- ]?up )?men\b"
        rf"|青年{_WORK_JA}|男性{_WORK_JA}"
    ),
    "shojo": (
        rf"{_BEFORE}\bsh[o]u?jo\b{_ALONE}(?![ -]?ai\b){_WORK}|\bgirls?'?s? (?:mangas?|comics?)\b"
        rf"|\b(?:mangas? )?for (?:teenage "
        rf"|teen )?girls\b(?!,? (?:aged?|under|who|of|\d))|少女{_WORK_JA}|女の子向け(?:の)?"
    ),
    "josei": (
        rf"{_BEFORE}\bjosei\b{_ALONE}{_WORK}|\b(?:women|ladies)'?s? (?:mangas?|comics?|drama|romance|stories"
        rf"|magazines?)\b"
        rf"|\b(?:aimed at|for) (?:adult "
        rf"|grown[- ]?up )?(?:women|ladies)\b|女性{_WORK_JA}|レディコミ|大人の女性(?:向け)?(?:の)?"
    ),
    "kodomo": rf"{_BEFORE}\bkodomo(?:muke)?\b{_ALONE}{_WORK}|児童{_WORK_JA}",
}
_ANY = re.compile("|".join(f"(?P<{genre}>{wording})" for genre, wording in _GENRES.items()), re.ASCII)
_JOIN = re.compile(r" ?(?:or|and|/|,|か|や|、|または) ?")


def find_readership(text: str) -> Iterator[Claim]:
    """Claims of a normalised text; readerships that are joined ("shonen or seinen") are one claim: any of them."""
    found = list(_ANY.finditer(text))
    while found:
        group = [found.pop(0)]
        while found and _JOIN.fullmatch(text, group[-1].end(), found[0].start()):
            group.append(found.pop(0))
        genres = tuple(dict.fromkeys(match.lastgroup or "" for match in group))
        yield Claim(group[0].start(), group[-1].end(), " or ".join(genres), Conditions(genres=genres))
