"""Conversations as TOML: what may stand in a file of `open` and `locked`.

A `[[conversation]]` has a `title`, a `language` (en, ja, mixed) and perhaps a `customer` who is signed in. A `[[conversation.turn]]`
has what the customer `says`, and `must` and `must_not`, lists of expectations. Without `tool` a turn searches, with the words as
`query`; `with` holds arguments, `reads` the address of a resource, `prompt` the name of one. Further calls of a turn stand under
`[[conversation.turn.then]]`. A turn with a `customer` of its own is theirs from then on. An unknown key, field, tag, title or tool
is refused with the nearest one.

In arguments and expectations `{first}` to `{fifth}`, `{last}`, `{all}`, `{second of turn 1}` and `{id of Death Note}` are ids of
titles that were shown, `{words}` and `{words of turn 1}` the customer's words, `{result_set}` and `{next_offset}` as the latest answer
gave them. Expectations are:

    every result: status = Finished       also some, no, first, last; of result, item, rating, volume, order, parcel, line, offer
    at least 3 results: tagged Mystery    also at most, exactly; `no parcels`
    price_jpy <= 600; tagged A | B        fields by =, !=, <=, >=, <, >; `|` between alternatives, `;` between conditions
    author mentions Urasawa; note is known; not tagged Gore
    shows all of: Touch | Cross Game      also one of, none of; titles by name or reference
    results by price_jpy, lowest first; says 16335 | 16,335; error NOT_FOUND
    either no results or else note is known
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conversations.expectations import Expectation, may_fail
from tests.conversations.language import expectation
from tests.conversations.notebook import check_reference
from tests.conversations.shelf import Json, Shelf, nearest
from tests.conversations.vocabulary import Slip, Vocabulary
from tools import registry

HERE = Path(__file__).parent
TOOLS = tuple(tool.name for tool in registry.TOOLS)
SEARCH = "search_manga_catalog"
WORDS_GO = {SEARCH: "query", "get_recommendations": "criteria", "classify_genre": "text"}
"""The argument that takes the customer's words where the script gives none, as a plain model would do."""
LANGUAGES = ("en", "ja", "mixed")
ASKS = ("tool", "reads", "prompt")
OF_FILE: Mapping[str, type] = {"topic": str, "locked": bool, "conversation": list}
OF_CONVERSATION: Mapping[str, type] = {"title": str, "language": str, "customer": str, "known": str, "turn": list}
OF_CALL: Mapping[str, type] = {"tool": str, "reads": str, "prompt": str, "with": dict, "must": list, "must_not": list}
OF_TURN: Mapping[str, type] = {**OF_CALL, "says": str, "customer": str, "then": list}


@dataclass(frozen=True, slots=True)
class Line:
    """An expectation and the words it was read from. `wanted` is false under `must_not`."""

    text: str
    expected: Expectation
    wanted: bool


@dataclass(frozen=True, slots=True)
class Call:
    """`how` is one of ASKS; `name` is the tool's or the prompt's, or the resource's URI."""

    how: str
    name: str
    arguments: Json
    lines: tuple[Line, ...]

    @property
    def may_fail(self) -> bool:
        return any(line.wanted and may_fail(line.expected) for line in self.lines)


@dataclass(frozen=True, slots=True)
class Turn:
    says: str
    customer: str | None
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """`known` is why it fails, where that is known and published."""

    file: str
    topic: str
    locked: bool
    title: str
    language: str
    turns: tuple[Turn, ...]
    known: str | None

    @property
    def name(self) -> str:
        return f"{self.file}::{self.title}"


def load_all(folder: Path = HERE) -> list[Conversation]:
    """Of all files, in their order. Raises Slip, which names the file and the conversation."""
    words = Vocabulary(Shelf.of_the_demo())
    return [each for path in sorted(folder.glob("*/*.toml")) for each in load(path, words)]


def load(path: Path, words: Vocabulary) -> Iterator[Conversation]:
    where = f"{path.parent.name}/{path.name}"
    try:
        script = tomllib.loads(path.read_text("utf-8"))
        _check_keys(script, OF_FILE, "a file", needed=("topic", "conversation"))
    except (tomllib.TOMLDecodeError, Slip) as slip:
        raise Slip(f"{where}: {slip}") from None
    for each in script["conversation"]:
        try:
            yield _conversation(each, script, where, words)
        except (Slip, LookupError) as slip:
            raise Slip(f"{where}, {each.get('title', 'one without a title')!r}: {slip}") from None


def _conversation(written: Json, script: Json, where: str, words: Vocabulary) -> Conversation:
    _check_keys(written, OF_CONVERSATION, "a conversation", needed=("title", "language", "turn"))
    if written["language"] not in LANGUAGES:
        raise Slip(f"language = {written['language']!r}: it is one of {', '.join(LANGUAGES)}")
    return Conversation(
        file=where.removesuffix(".toml"),
        topic=script["topic"],
        locked=script.get("locked", False),
        title=written["title"],
        language=written["language"],
        turns=tuple(_turns(written, words)),
        known=written.get("known"),
    )


def _turns(written: Json, words: Vocabulary) -> Iterator[Turn]:
    customer = written.get("customer")
    for number, turn in enumerate(written["turn"], 1):
        _check_keys(turn, OF_TURN, f"turn {number}", needed=("says",))
        for then in turn.get("then", ()):
            _check_keys(then, OF_CALL, f"a call after the first of turn {number}")
        customer = turn.get("customer", customer)
        calls = (_call(each, number, words) for each in (turn, *turn.get("then", ())))
        yield Turn(turn["says"], customer, tuple(calls))


def _call(written: Json, turn: int, words: Vocabulary) -> Call:
    asked = [(how, written[how]) for how in ASKS if how in written] or [("tool", SEARCH)]
    if len(asked) > 1:
        raise Slip(
            f"turn {turn} asks for {' and '.join(how for how, _ in asked)}: put the second under [[conversation.turn.then]]"
        )
    how, name = asked[0]
    if how == "tool" and name not in TOOLS:
        raise Slip(f"there is no tool {name!r}{nearest(name, TOOLS)}")
    arguments = dict(written.get("with", {}))
    if how == "tool" and name in WORDS_GO:
        arguments.setdefault(WORDS_GO[name], "{words}")
    for text in _texts([name, arguments, written.get("must", []), written.get("must_not", [])]):
        check_reference(text, turn, words.shelf)
    lines = (*_lines(written.get("must", []), words, wanted=True), *_lines(written.get("must_not", []), words, wanted=False))
    if not lines:
        raise Slip(f"turn {turn} expects nothing of an answer: say what it must hold")
    return Call(how, name, arguments, lines)


def _lines(written: Iterable[str], words: Vocabulary, *, wanted: bool) -> tuple[Line, ...]:
    return tuple(Line(text, expectation(text, words), wanted) for text in written)


def _check_keys(written: Json, known: Mapping[str, type], what: str, needed: Iterable[str] = ()) -> None:
    for name, value in written.items():
        if name not in known:
            raise Slip(f"{what} has no {name!r}{nearest(name, known)} (it may have {', '.join(known)})")
        if not isinstance(value, known[name]):
            raise Slip(f"{name} of {what} has to be a {known[name].__name__}, not {value!r}")
    for name in needed:
        if not written.get(name):
            raise Slip(f"{what} needs {name!r}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)
