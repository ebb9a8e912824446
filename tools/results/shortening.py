"""A result made shorter: it loses what is worth least first, and stays what its output schema says.

What is worth least is declared by each tool, in `Tool.sheds`: paths into its result, in the order in which they go.
`results.synopsis` is that field of all rows at once; `results[]` are the rows themselves, from the end, as many as must. A
text goes whole or stays whole. Weights of tokens add up, so that each part is weighed once, when it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tools.results.tokens import weight, weight_as_json
from tools.schema.parts import ROWS, Json

COMMA, BRACKETS = weight(","), weight("[]")


@dataclass(frozen=True, slots=True)
class Cut:
    """How many rows of the list under `name` are left, and how many there were."""

    name: str
    kept: int
    of: int


@dataclass(frozen=True, slots=True)
class Shortened:
    """`left_out` are names of fields, `cuts` the lists that have lost rows."""

    value: Json
    left_out: tuple[str, ...]
    cuts: tuple[Cut, ...]


def shortened(value: Json, sheds: Sequence[str], most: int) -> Shortened:
    """The value in at most `most` weight of JSON, or the least of it that there is. In time linear in its size."""
    value, left_out, cuts = _copy(value), [], []
    excess = weight_as_json(value) - most
    for path in sheds:
        if excess <= 0:
            break
        *way, name = path.removesuffix(ROWS).split(".")
        holders = [each for each in _at(value, way) if name in each]
        if not path.endswith(ROWS):
            left_out += [name] if holders else []
            excess -= _drop(holders, name)
            continue
        lists = [each[name] for each in holders if isinstance(each[name], list)]
        rows = sum(map(len, lists))
        excess -= _cut(lists, excess)
        if rows > (kept := sum(map(len, lists))):
            cuts.append(Cut(name, kept, rows))
    return Shortened(value, tuple(left_out), tuple(cuts))


def _at(value: Any, way: Sequence[str]) -> Iterable[Json]:
    """The objects at the end of a way, through lists as well."""
    if isinstance(value, list):
        for each in value:
            yield from _at(each, way)
    elif isinstance(value, dict):
        if way:
            yield from _at(value.get(way[0]), way[1:])
        else:
            yield value


def _drop(holders: Sequence[Json], name: str) -> int:
    """Takes a field from all of them, and returns what it weighed."""
    if not holders:
        return 0
    dropped = [each.pop(name) for each in holders]
    # As one list they have a comma less than there are of them, and each took one along unless it was alone.
    commas = sum(map(bool, holders)) - (len(dropped) - 1)
    return weight_as_json(dropped) - BRACKETS + commas * COMMA + len(dropped) * weight(f'"{name}":')


def _cut(lists: Sequence[list[Any]], excess: int) -> int:
    """Takes rows from the end of the last list, then of the one before, and returns what they weighed: at least the excess,
    if there was so much."""
    gone = 0
    for rows in reversed(lists):
        while rows and gone < excess:
            gone += weight_as_json(rows.pop()) + (COMMA if rows else 0)
    return gone


def _copy(value: Any) -> Any:
    """What lists and objects hold may be taken from the copy without being taken from the value."""
    if isinstance(value, dict):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value
