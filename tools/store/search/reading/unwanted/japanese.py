"""Negation in Japanese, which stands after what it excludes: 恋愛要素なし, エロもグロもない, ホラー以外, 怖くない."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from tools.store.search.reading.naming import alternatives, name_before
from tools.store.search.reading.unwanted import japanese_wordings as wordings
from tools.store.search.reading.unwanted.exclusion import Exclusion
from tools.store.search.reading.unwanted.head import ends_description
from tools.store.search.reading.vocabulary import Named

_FARTHEST, _LONGEST_TAIL = 16, 24
_GENRE = re.compile(
    r"(?P<shonen>少年(?:漫画|マンガ|誌)?)|(?P<seinen>青年(?:漫画|マンガ|誌)?)|(?P<shojo>少女(?:漫画|マンガ|誌)?)"
    r"|(?P<josei>女性(?:漫画|マンガ|誌)|レディコミ)"
    r"|(?P<kodomo>(?:子供|子ども|こども|児童)(?:向け|漫画|マンガ|だまし))"
)


def japanese_exclusions(text: str, named: tuple[Named, ...]) -> Iterator[Exclusion]:
    """Those that do not overlap, in the text's order."""
    yield from _neither(text)
    ends = [each.end for each in named]
    taken = 0
    for marker in islice(wordings.JAPANESE.finditer(text), wordings.MOST):
        if marker.lastgroup == "false" or wordings.JA_CHARACTER.match(text, marker.end()):
            continue
        last = bisect_right(ends, marker.end()) - 1
        found = _themes(text, named, last, marker, taken) or _genre(text, marker, taken) or _name(text, marker, taken)
        if found is not None:
            yield found
            taken = found.end


def _themes(text: str, named: tuple[Named, ...], last: int, marker: re.Match[str], taken: int) -> Exclusion | None:
    if last < 0 or named[last].start < taken or not _adjoins(text, named[last], marker):
        return None
    if marker.start() < named[last].end:  # a part of the word: 切ない, 救いがない
        return None
    first = last
    while first and named[first - 1].end > taken and _is_listed(text, named[: first + 1], marker):
        first -= 1
    end = _tail(text, max(marker.end(), named[last].end))
    themes, excepts = named[first : last + 1], marker.lastgroup == "strong"
    little = wordings.JA_LITTLE.search(text, max(taken, themes[0].start - _FARTHEST), themes[0].start)
    start = little.start() if little else max(taken, themes[0].start)
    return Exclusion(start, end, themes, mild=little is not None or _is_mild(text, marker), excepts=excepts)


def _is_mild(text: str, marker: re.Match[str]) -> bool:
    """控えめ, 怖すぎない, 怖くなりすぎない."""
    return marker.lastgroup == "mild" or text.endswith(("すぎ", "過ぎ"), 0, marker.start())


def _adjoins(text: str, theme: Named, marker: re.Match[str]) -> bool:
    """Whether nothing but words for a work or a part of it stands between the theme and the negation."""
    gap = marker.start() - theme.end
    return gap <= 0 or (gap <= _FARTHEST and wordings.JA_NOUN.fullmatch(text, theme.end, marker.start()) is not None)


def _is_listed(text: str, named: Sequence[Named], marker: re.Match[str]) -> bool:
    """Whether the last two are of one list: エロやグロ, エロ・グロ; over a comma or a space only what is unpleasant and
    ends no description: 恋愛、グロなし may want the first."""
    one, next_ = named[-2:]
    gap = text[one.end : next_.start]
    if len(gap) > _FARTHEST or one.aversion == next_.aversion:  # ホラー、ホラーなし asks for it first
        return False
    join = wordings.JA_LISTED.fullmatch(gap)
    if join is None or join["loose"] is None:
        return join is not None
    adjoining = named[-3] if len(named) > 2 and named[-3].end == one.start else None
    if adjoining is not None and not adjoining.unpleasant:  # 学園ホラー、グロなし
        return False
    dreaded = adjoining is not None and marker.lastgroup == "strong"  # 怖いホラー、グロは苦手
    return one.unpleasant and (dreaded or not ends_description(text, one))


def _genre(text: str, marker: re.Match[str], taken: int) -> Exclusion | None:
    for match in _GENRE.finditer(text, max(taken, marker.start() - _FARTHEST), marker.start()):
        if wordings.JA_NOUN.fullmatch(text, match.end(), marker.start()):
            return Exclusion(match.start(), _tail(text, marker.end()), genres=(match.lastgroup or "",))
    return None


def _name(text: str, marker: re.Match[str], taken: int) -> Exclusion | None:
    named = marker.lastgroup == "strong" or wordings.JA_OF_NAMES.match(marker[0]) is not None
    name = name_before(text, marker.start(), taken) if named else None
    return Exclusion(name.start, _tail(text, marker.end()), names=alternatives(name.text)) if name else None


def _neither(text: str) -> Iterator[Exclusion]:
    for match in islice(wordings.JA_NEITHER.finditer(text), wordings.MOST):
        yield Exclusion(match.start(), _tail(text, match.end()), names=(match[0], match["one"], match["other"]))


def _tail(text: str, at: int) -> int:
    match = wordings.JA_TAIL.match(text, at, at + _LONGEST_TAIL)
    return match.end() if match else at
