"""Reads comparisons with a title: "shorter than GTO", ナルトより短い, "like Berserk but tamer"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.store.models import Conditions, Range, Title
from tools.store.search.reading.items import Item, Stance
from tools.store.search.reading.tokens import Bound, Is, Token

_WAYS: Mapping[str, tuple[str, ...]] = {
    "better rated": ("rated",),
    "cheaper": ("cheaper", "less expensive", "安"), "more expensive": ("expensive", "dearer", "pricier", "高"),
    "newer": ("newer", "later", "recent", "新し"),
    "shorter": ("shorter", "fewer", "less", "短", "みじか", "少な"), "longer": ("longer", "more", "bigger", "長", "多"),
    "older": ("older", "earlier", "古", "昔"),
}  # fmt: skip
_TURNED = {"shorter": "longer", "newer": "older", "cheaper": "more expensive", "better rated": "worse rated"}
_TURNED |= {other: way for way, other in _TURNED.items()}
_FEW, _LEAST_BETTER = 10, 0.01
"""Most volumes of a title "shorter" than one of unknown length; least difference to a worse rating."""


def find_comparison(tokens: Sequence[Token], items: Sequence[Item], i: int) -> tuple[str, Item, bool] | None:
    """Returns way and title of the comparison at token `i`, and whether the title's own value is allowed; None if there is
    none."""
    token = tokens[i]
    if token.text == "ほど":
        return _find_degree(items, i)
    if not token.entry(Is.BOUND) or not ("than" in token.text or "then" in token.text or "より" in token.text):
        return None
    near = [
        item
        for item in items
        if item.token.title_ids and (0 < item.at - i <= 2 if "より" not in token.text else 0 < i - item.at <= 2)
    ]
    way = _way_of(token.text)
    if not near or way is None:
        return None
    least = any(each.bound in (Bound.LEAST, Bound.OVER) for each in token.entries)
    denied = least is not (way in ("longer", "newer", "better rated", "more expensive"))  # "not longer than Naruto"
    denied = denied is not _refuses_comparison(items, near[0], i)
    return _TURNED[way] if denied else way, near[0], denied


def _find_degree(items: Sequence[Item], i: int) -> tuple[str, Item, bool] | None:
    """Returns, as `find_comparison` does, the comparison by the ほど at token index `i`: ナルトほど長くない."""
    title = next((each for each in items if each.at == i - 1 and each.token.title_ids), None)
    measure = next((each for each in items if each.at == i + 1 and each.stance is Stance.REFUSED), None)
    if title is None or measure is None:
        return None
    way = _way_of(measure.token.text)
    return None if way is None else (_TURNED[way], title, False)


def _refuses_comparison(items: Sequence[Item], item: Item, i: int) -> bool:
    """Returns True if the refusal of a title refuses the comparison at `i`: "nothing longer than Naruto"."""
    if item.stance is not Stance.REFUSED or item.chain is None:
        return False
    first, last = (i, item.chain.at) if item.chain.japanese else (item.chain.to, i)
    return first < last and not any(first < each.at < last for each in items)


def _way_of(text: str) -> str | None:
    return next((way for way, words in _WAYS.items() if any(word in text for word in words)), None)


def compare_with(title: Title, way: str, *, than: bool, own: bool = False) -> Conditions | None:
    """Returns the conditions of a comparison with a title; None if the title's value is unknown, or for a way without
    conditions ("cheaper"). "shorter": fewer volumes with `than`, else at most half as many; at most `_FEW` if the title's
    length is unknown. `own`: the title's own value is allowed too."""
    made: Any = None
    step = 0 if own else 1
    match way:
        case "shorter" if title.volumes:
            made = Conditions(volumes=Range(None, max(1, title.volumes - step if than else title.volumes // 2)))
        case "shorter":
            made = Conditions(volumes=Range(None, _FEW))
        case "longer" if title.volumes:
            made = Conditions(volumes=Range(title.volumes + step))
        case "newer" if title.start_year:
            made = Conditions(years=Range(title.start_year + step))
        case "older" if title.start_year:
            made = Conditions(years=Range(None, title.start_year - step))
        case "better rated" if title.rating:
            made = Conditions(min_rating=title.rating + (0 if own else _LEAST_BETTER))
        case "another" if title.authors:
            made = Conditions(without_authors=tuple(author.name for author in title.authors))
        case "tamer":
            made = Conditions(without_tags=("Gore", "Horror", "Ecchi"))
    return made if isinstance(made, Conditions) else None
