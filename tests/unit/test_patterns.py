"""No regular expression of the product backtracks: each reads 500 characters of its own repeated atoms in 5 ms of CPU."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as pattern_parser  # type: ignore[attr-defined]
from typing import Any

import server
import session
import tools
from tools.store.search.query.parsed import ToneTable

LONGEST, MOST_SECONDS = 500, 0.005
_SAMPLES = {
    "CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a", "CATEGORY_NOT_DIGIT": "a", "CATEGORY_NOT_SPACE": "a",
    "CATEGORY_NOT_WORD": "-",
}  # fmt: skip
ENDS = ("", "x", "!", "\n")


def patterns() -> dict[str, re.Pattern[str]]:
    """Every compiled pattern that a module of the product holds or makes of a table; those of equal source once."""
    found: dict[str, tuple[str, re.Pattern[str]]] = {}
    for root in (server, tools, session):
        for module in walk_packages(root.__path__, f"{root.__name__}."):
            if not module.name.endswith("__main__"):
                names = vars(import_module(module.name))
                for name, value in names.items():
                    for pattern in _within(value):
                        found.setdefault(f"{pattern.pattern}{pattern.flags}", (f"{module.name}.{name}", pattern))
    moods = ToneTable.load().phrases
    found[moods.pattern] = ("ToneTable.phrases", moods)
    return {f"{number} {name}": pattern for number, (name, pattern) in enumerate(found.values())}


def _within(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif depth < 3 and isinstance(value, dict):
        for each in value.values():
            yield from _within(each, depth + 1)
    elif depth < 3 and isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _within(each, depth + 1)


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
        own = list(dict.fromkeys(atoms(pattern_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))))[:40]
        texts = {(atom * LONGEST)[: LONGEST - len(end)] + end for atom in (*own, "".join(own[:8]) or "a") for end in ENDS}
        ways = (pattern.match, pattern.search, pattern.fullmatch)
        slow += [(name, text[:20], text[-2:]) for text in texts for way in ways if _takes_long(way, text)]
    assert not slow


def _takes_long(way: Any, text: str) -> bool:
    """Best of ten, where the first is slow."""
    return all(_seconds(way, text) > MOST_SECONDS for _ in range(10))


def _seconds(way: Any, text: str) -> float:
    begun = time.thread_time()
    way(text)
    return time.thread_time() - begun


def test_backtracking_expression_is_detected() -> None:
    assert _takes_long(re.compile(r"(?:a|aa)+c").match, "a" * 28)
