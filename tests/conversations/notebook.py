"""What has been said and shown in a conversation so far, and what a reference such as {second of turn 1} stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.conversations.shelf import Json, Shelf, nearest
from tests.conversations.vocabulary import OF_TITLES, Slip

PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
PLAIN = (*PLACES, "all", "words", "result_set", "next_offset", "call")
REFERENCE = re.compile(r"\{(?P<what>[^{}]+?)(?: of turn (?P<turn>\d+))?\}")
ID_OF = "id of "


class NotShown(Exception):
    """A reference to what no answer showed: the conversation cannot go on."""


@dataclass(slots=True)
class Page:
    """Of one turn."""

    words: str
    answers: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class Notebook:
    shelf: Shelf
    pages: list[Page] = field(default_factory=list)

    def filled(self, value: Any) -> Any:
        """With every reference replaced; one that stands alone keeps its type, and one to all of a list joins the list around it.

        Raises NotShown."""
        if isinstance(value, dict):
            return {name: self.filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [part for each in value for part in _parts(self.filled(each))]
        if not isinstance(value, str):
            return value
        if alone := REFERENCE.fullmatch(value):
            return self._meant(alone)
        return REFERENCE.sub(lambda found: str(self._meant(found)), value)

    def _meant(self, reference: re.Match[str]) -> Any:
        what, turn = reference["what"], reference["turn"]
        if what.startswith(ID_OF):
            return self._id_of(what.removeprefix(ID_OF))
        pages = self.pages if turn is None else [self.pages[int(turn) - 1]]
        if what == "words":
            return pages[-1].words
        answers = [answer for page in reversed(pages) for answer in reversed(page.answers)]
        if what in PLACES or what == "all":
            return _placed(what, next(filter(None, map(shown, answers)), []), reference[0])
        for answer in answers:
            if what in answer:
                return answer[what]
        raise NotShown(f"{reference[0]}: no answer had a {what}")

    def _id_of(self, name: str) -> str:
        title_id = self.shelf.named(name).title_id
        seen = (each for page in self.pages for answer in page.answers for each in _ids_in(answer))
        if title_id not in seen:
            raise NotShown(f"{{id of {name}}}: it was not shown, so nobody here knows its id")
        return title_id


def shown(answer: Json) -> list[str]:
    """The ids of the titles that it offers, in their order, each once."""
    rows = (row for name in OF_TITLES if isinstance(answer.get(name), list) for row in answer[name])
    return list(dict.fromkeys(row.get("title_id") or answer.get("title_id") for row in rows))


def check_reference(text: str, turn: int, shelf: Shelf) -> None:
    """Raises Slip for one that can stand for nothing in this turn (counted from 1)."""
    for found in REFERENCE.finditer(text):
        what = found["what"]
        if what.startswith(ID_OF):
            shelf.named(what.removeprefix(ID_OF))
        elif what not in PLAIN:
            raise Slip(f"nothing is meant by {found[0]}{nearest(what, PLAIN)}")
        if found["turn"] and not 1 <= int(found["turn"]) < turn + (what == "words"):
            raise Slip(f"{found[0]} in turn {turn}: refer to an earlier turn")


def _placed(what: str, ids: list[str], reference: str) -> Any:
    if what == "all" and ids:
        return ids
    try:
        return ids[PLACES[what]]
    except (KeyError, IndexError):
        raise NotShown(f"{reference}: {len(ids)} titles were shown") from None


def _parts(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else [value]


def _ids_in(answer: Json) -> Iterator[str]:
    if "title_id" in answer:
        yield answer["title_id"]
    for rows in answer.values():
        if isinstance(rows, list):
            yield from (row["title_id"] for row in rows if isinstance(row, dict) and "title_id" in row)
