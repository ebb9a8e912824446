"""No regular expression of the product backtracks: each reads 500 characters of its own repeated atoms, and of each two of
them, in 5 ms of CPU."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pkgutil import walk_packages
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as pattern_parser  # type: ignore[attr-defined]
from typing import Any

import server
import session
import tools
from tools.registry import TOOLS
from tools.search_manga_catalog import POINTERS
from tools.store.identifiers import IdPattern
from tools.store.search.query.parsed import ToneTable

LONGEST, MOST_SECONDS, MOST_PAIRED = 500, 0.005, 25
_SAMPLES = {
    "CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a", "CATEGORY_NOT_DIGIT": "a", "CATEGORY_NOT_SPACE": "a",
    "CATEGORY_NOT_WORD": "-",
}  # fmt: skip
ENDS = ("", "x", "!", "\n")


def patterns() -> dict[str, re.Pattern[Any]]:
    """Every compiled pattern that a module of the product or a tool's schema holds or makes of a table; those of equal source
    once."""
    found: dict[str, tuple[str, re.Pattern[Any]]] = {}
    for root in (server, tools, session):
        for module in walk_packages(root.__path__, f"{root.__name__}."):
            if not module.name.endswith("__main__"):
                names = vars(import_module(module.name))
                for name, value in names.items():
                    for pattern in _within(value):
                        found.setdefault(f"{pattern.pattern}{pattern.flags}", (f"{module.name}.{name}", pattern))
    for schema in (each.input_schema for each in TOOLS):
        for pattern in map(re.compile, _stated(schema)):
            found.setdefault(f"{pattern.pattern}{pattern.flags}", ("schema", pattern))
    moods = ToneTable.load().phrases
    found[moods.pattern] = ("ToneTable.phrases", moods)
    return {f"{number} {name}": pattern for number, (name, pattern) in enumerate(found.values())}


def _within(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
        return
    parts: Iterable[object] = ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, tuple | list | set | frozenset):
        parts = value
    elif isinstance(value, IdPattern):
        parts = vars(value).values()
    elif is_dataclass(value) and not isinstance(value, type):
        parts = (getattr(value, field.name, None) for field in fields(value))
    for each in parts if depth < 3 else ():
        yield from _within(each, depth + 1)


def _stated(schema: object) -> Iterator[str]:
    """The patterns of a JSON Schema."""
    if isinstance(schema, dict):
        yield from (each for name, each in schema.items() if name == "pattern" and isinstance(each, str))
        schema = list(schema.values())
    for each in schema if isinstance(schema, list) else ():
        yield from _stated(each)


def atoms(parsed: Any) -> Iterator[str]:
    """What one step of a pattern may read."""
    literal = ""
    for operation, argument in parsed:
        if operation is opcodes.LITERAL:
            literal += chr(argument)
            yield chr(argument)
        elif operation is opcodes.IN:
            yield from (sample for each in argument if (sample := _sample(each)))
        elif operation in (opcodes.ANY, opcodes.NOT_LITERAL):
            yield "a"
        else:
            for part in argument if isinstance(argument, tuple) else (argument,):
                for inner in part if isinstance(part, list) else (part,):
                    if isinstance(inner, pattern_parser.SubPattern):
                        yield from atoms(inner)
    if len(literal) > 1:
        yield literal


def _sample(member: Any) -> str:
    kind, value = member
    if kind is opcodes.LITERAL:
        return chr(value)
    if kind is opcodes.RANGE:
        return chr(value[0])
    return _SAMPLES.get(str(value), "")


def test_no_regular_expression_of_the_product_backtracks() -> None:
    slow = []
    for name, pattern in patterns().items():
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        own = list(dict.fromkeys(atoms(pattern_parser.parse(source, pattern.flags & ~re.DEBUG))))
        repeated = [*own[:40], "".join(own[:8]) or "a"]
        pairs = {_repeat(one + other, "\n") for one, other in itertools.permutations(own[:MOST_PAIRED], 2)}
        for text in pairs | {_repeat(atom, end) for atom in repeated for end in ENDS}:
            read = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
            ways = (pattern.search,) if text in pairs else (pattern.match, pattern.search, pattern.fullmatch)
            slow += [(name, text[:20], text[-2:]) for way in ways if _takes_long(way, read)]
    assert not slow


def _repeat(atom: str, end: str) -> str:
    return (atom * LONGEST)[: LONGEST - len(end)] + end


def test_patterns_within_objects_are_found() -> None:
    assert {each.wording.pattern for each in POINTERS} <= {each.pattern for each in patterns().values()}


def _takes_long(way: Any, text: str) -> bool:
    """Best of ten, where the first is slow."""
    return all(_seconds(way, text) > MOST_SECONDS for _ in range(10))


def _seconds(way: Any, text: str) -> float:
    begun = time.thread_time()
    way(text)
    return time.thread_time() - begun


def test_backtracking_expression_is_detected() -> None:
    assert _takes_long(re.compile(r"(?:a|aa)+c").match, "a" * 28)
