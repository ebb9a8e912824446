"""Negation in English and romaji: "no gore or ecchi", "anything but isekai", "gore-free", "horror isn't my thing"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from tools.store.search.query.wordings import GENRES
from tools.store.search.reading.naming import alternatives, name_at
from tools.store.search.reading.unwanted import english_wordings as wordings
from tools.store.search.reading.unwanted.exclusion import Exclusion
from tools.store.search.reading.unwanted.head import ends_description_en
from tools.store.search.reading.vocabulary import Named

_WINDOW = {"weak": 1, "named": 1, "firm": 5, "strong": 4}
"""How many unknown words may stand between the negation and the theme that it excludes."""
_CLAUSE, _MOST_ITEMS = 120, 12
_KODOMO = r"kid(?:s'?|die) (?:stuff|mangas?|comics?)|children's (?:stuff|mangas?|comics?)"
_GENRE = re.compile(
    "|".join(f"(?P<{genre}>{wording.pattern})" for genre, wording in GENRES.items()) + f"|(?P<kids>{_KODOMO})"
)
_CLAUSES = re.compile(r"[,.;!?]| but ")
_OVER = re.compile(r" ?(?:$|[,.;:!?)]|(?:or|nor|and|but|please|for|thanks|though)\b)")


def english_exclusions(text: str, named: tuple[Named, ...]) -> Iterator[Exclusion]:
    """By the words before what is excluded, then by those after it."""
    taken, by_name, ahead = 0, False, {each.start: each for each in named}
    for marker in islice(wordings.ENGLISH.finditer(text), wordings.MOST):
        if marker.lastgroup == "false" or marker.start() < taken:
            continue
        found = _Negation(text, ahead, marker, by_name).exclusion()
        if found is not None and not _of_a_character(text, marker) and not _is_particle(text, marker):
            yield found
            taken, by_name = found.end, by_name or bool(found.names)
    yield from _followed(text, named)
    yield from _named_before(text)


class _Negation:
    """Reads on from a negation: themes, readerships or a name, and the words between them. `after_a_name`: another one
    before it has excluded a name, so that a word that is no theme is the next: "not Naruto, not Bleach"."""

    def __init__(self, text: str, ahead: Mapping[int, Named], marker: re.Match[str], after_a_name: bool) -> None:
        self._text, self._marker, self._strength = text, marker, marker.lastgroup or ""
        self._after_a_name = after_a_name
        self._ahead = ahead
        self._end = marker.end()
        self._themes: list[Named] = []
        self._genres: list[str] = []

    def exclusion(self) -> Exclusion | None:
        """None where nothing that follows can be excluded."""
        if self._strength in ("strong", "named") and self._of_an_author() and (one_of_them := self._by_name()):
            return one_of_them
        if not self._took_item(_WINDOW[self._strength]):
            return self._by_name() if self._strength in ("strong", "named") else None
        first = self._themes[0].start if self._themes else self._end
        mild = wordings.MILD.search(self._text, self._marker.start(), first) is not None
        for _ in range(_MOST_ITEMS):
            if not self._goes_on():
                break
        excepts = self._strength in ("strong", "named") and not wordings.NO_NAME.match(self._marker[0])
        themes, genres = tuple(self._themes), tuple(self._genres)
        return Exclusion(self._marker.start(), self._end, themes, genres, mild=mild, excepts=excepts)

    def _of_an_author(self) -> bool:
        start = self._marker.start()
        return wordings.OF_AN_AUTHOR.search(self._text, max(0, start - _CLAUSE), start) is not None

    def _by_name(self) -> Exclusion | None:
        if wordings.NO_NAME.match(self._marker[0]) and not wordings.OF_WORKS.search(self._text[: self._marker.start()]):
            return None
        name = name_at(self._text, self._end)
        sure = self._after_a_name or self._of_an_author()
        if self._strength == "named" and not (sure or (name and wordings.SURELY_NAMED.fullmatch(name.text))):
            return None
        return Exclusion(self._marker.start(), name.end, names=alternatives(name.text)) if name else None

    def _took_item(self, window: int) -> bool:
        """Takes what stands here, after at most `window` words that say nothing."""
        at = _past(wordings.FILLER, self._text, self._end)
        for left in range(window, -1, -1):
            if self._took(_past_space(self._text, at)):
                return True
            word = wordings.WORD.match(self._text, at) if left else None
            if word is None or wordings.STOP.match(self._text, at):
                return False
            at = _past(wordings.FILLER, self._text, word.end())
        return False

    def _took(self, at: int) -> bool:
        theme = self._ahead.get(at)
        genre = _GENRE.match(self._text, at)
        if theme is not None and self._goes_with_what_is_wanted(theme):
            self._themes.append(theme)
            self._end = theme.end
            return True
        if theme is None and genre is None:
            return False
        first = theme
        while theme is not None and (theme.unpleasant or not (first and first.unpleasant)):
            self._themes.append(theme)
            at = theme.end
            theme = self._ahead.get(_past_space(self._text, at))
        if genre is not None:
            self._genres.append("kodomo" if genre.lastgroup == "kids" else genre.lastgroup or "")
            at = max(at, genre.end())
        self._end = _past(wordings.NOUNS, self._text, at)
        return True

    def _goes_with_what_is_wanted(self, theme: Named) -> bool:
        """ "No romance sports manga": a whole text that would else ask for nothing asks for the theme after this one."""
        following = self._ahead.get(_past_space(self._text, theme.end))
        if following is None or self._marker[0] not in wordings.BEFORE_A_WORK:
            return False
        if len(self._ahead) > 2 or not wordings.ASKING_ALONE.fullmatch(self._text[: self._marker.start()]):
            return False
        return wordings.A_WORK_AT_THE_END.match(self._text, following.end) is not None

    def _goes_on(self) -> bool:
        """Whether a list goes on here, and takes its next item: "or" always joins; "and" and a comma join what is unpleasant
        too, or ends there ("no romance and gore", but "no romance and something funny", "no romance, comedy please")."""
        join = wordings.JOIN.match(self._text, self._end)
        if join is None:
            return False
        before = (self._end, len(self._themes), len(self._genres))
        self._end = join.end()
        if self._took_item(0) and self._joined(join, self._themes[before[1] :]):
            return True
        self._end = before[0]
        del self._themes[before[1] :], self._genres[before[2] :]
        return False

    def _joined(self, join: re.Match[str], items: list[Named]) -> bool:
        if join["joined"] in ("or", "nor") or join["sign"] is not None or self._marker[0].endswith(":"):
            return True
        if not _OVER.match(self._text, self._end) or wordings.ASKED.match(self._text, self._end):
            return False
        if wordings.CHEERFUL.match(self._text, join.end()):
            return False
        if join["joined"] == "and":
            return True
        return any(each.unpleasant for each in items) or wordings.CLOSED.match(self._text, self._end) is not None


def _followed(text: str, named: tuple[Named, ...]) -> Iterator[Exclusion]:
    """What a wording after it excludes, and the list that it ends: "gore and horror are a no-go", "ero nashi"."""
    for last, theme in enumerate(named):
        after = wordings.POSTFIX.match(text, theme.end)
        if after is None:
            continue
        first = last
        while first and _is_listed(text, named[first - 1], named[first]):
            first -= 1
        yield Exclusion(named[first].start, after.end(), named[first : last + 1])


def _is_listed(text: str, one: Named, next_: Named) -> bool:
    """Over a comma, not what ends a description: "short horror, gore-free"."""
    join = wordings.LISTED.fullmatch(text, one.end, next_.start)
    return join is not None and (join[0].strip() != "," or not ends_description_en(text, one))


def _named_before(text: str) -> Iterator[Exclusion]:
    """ "Dragon Ball excluded"."""
    for match in islice(wordings.NAMED_BEFORE.finditer(text), wordings.MOST):
        yield Exclusion(match.start("name"), match.end(), names=alternatives(match["name"]))


def _of_a_character(text: str, marker: re.Match[str]) -> bool:
    """ "About a boy who hates sports": what somebody in the story lacks or hates is not what the shopper does."""
    before = text[max(0, marker.start() - _CLAUSE) : marker.start()]
    return wordings.CHARACTER.search(_CLAUSES.split(before)[-1]) is not None


def _is_particle(text: str, marker: re.Match[str]) -> bool:
    """Whether this "no" is the particle の in romaji: "kimi no na wa"."""
    return marker[0] == "no" and wordings.ROMAJI_BEFORE.search(text, max(0, marker.start() - 20), marker.start()) is not None


def _past(wording: re.Pattern[str], text: str, at: int) -> int:
    match = wording.match(text, at)
    return match.end() if match else at


def _past_space(text: str, at: int) -> int:
    return at + (text[at : at + 1] == " " or text[at : at + 1] == "-")
