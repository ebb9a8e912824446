"""From JSON to the store's nouns and back, by pydantic: their types and limits are the one description of their shape.

Strictly, since what was written wrong would be answered wrong: true is no number, and "3" is none. Who writes is refused
what the model does not know, by name; of what a backend keeps, that is passed over, since a later version may have written
it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_json

T = TypeVar("T")


class ShapeError(ValueError):
    """JSON that does not fit: the message names the place (`$.lines[0].quantity`) and what belongs there."""


def decode(kind: type[T], value: object, path: str = "$", *, unknown: Literal["forbid", "ignore"] = "forbid") -> T:
    """`value`, a parsed JSON value, as `kind`: a dataclass, or tuples of them. Lists become tuples.

    Raises ShapeError for what is missing, of a wrong type or beyond a limit, and for unknown fields unless they are ignored.
    """
    try:
        written = to_json(value, inf_nan_mode="constants")
    except (ValueError, RecursionError) as error:  # half a character, or deeper than anything of ours
        raise ShapeError(f"{path} holds what no JSON can say") from error
    return decode_json(kind, written, path, unknown=unknown)


def decode_json(
    kind: type[T], written: bytes | str, path: str = "$", *, unknown: Literal["forbid", "ignore"] = "forbid"
) -> T:
    """As `decode`, of JSON that is not parsed yet."""
    try:
        return cast(T, _adapter(cast(Hashable, kind)).validate_json(written, strict=True, extra=unknown))
    except ValidationError as error:
        raise ShapeError(_told(error, kind, path)) from None


@lru_cache(maxsize=32)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Made once a kind: that takes milliseconds."""
    return TypeAdapter(kind)


def _told(error: ValidationError, kind: Any, path: str) -> str:
    """The first thing that is wrong. Of the fields of one object all that are unknown, or lacking, are named together."""
    details = error.errors(include_url=False, include_input=False)
    unknown = [each for each in details if each["type"] == _UNKNOWN]
    first = (unknown or details)[0]
    where = _place(path, first["loc"])
    if first["type"] not in _OF_AN_OBJECT:
        return f"{where} {_words(first)}"
    of_one = [each for each in details if each["type"] == first["type"] and each["loc"][:-1] == first["loc"][:-1]]
    names = sorted(str(each["loc"][-1]) for each in of_one)
    inside = _place(path, first["loc"][:-1])
    if first["type"] == "missing":
        return f"{inside} lacks: {', '.join(names)}"
    return unknown_fields(inside, names, [each.name for each in fields(kind)] if len(first["loc"]) == 1 else ())


def unknown_fields(path: str, unknown: Sequence[str], known: Iterable[str]) -> str:
    """That an object has fields that nothing is `known` by, with the name that is nearest to the first of them."""
    near = get_close_matches(unknown[0], list(known), n=1)
    return f"{path} has unknown fields: {', '.join(unknown)}" + (f"; did you mean {near[0]}?" if near else "")


def _place(path: str, location: Sequence[int | str]) -> str:
    return path + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


_UNKNOWN = "unexpected_keyword_argument"
_OF_AN_OBJECT = ("missing", _UNKNOWN)
_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "dataclass_type": lambda _: "must be an object",
    "tuple_type": lambda _: "must be a list",
    "string_type": lambda _: "must be text",
    "int_type": lambda _: "must be a whole number",
    "float_type": lambda _: "must be a number",
    "finite_number": lambda _: "must be a number",
    "string_too_short": lambda _: "must not be empty",
    "string_too_long": lambda limit: f"must have at most {limit['max_length']} characters",
    "too_short": lambda _: "must not be empty",
    "too_long": lambda limit: f"must be a list of at most {limit['max_length']}",
    "greater_than_equal": lambda limit: f"must be at least {limit['ge']}",
    "less_than_equal": lambda limit: f"must be at most {limit['le']}",
    "value_error": lambda rule: str(rule["error"]),
}


def _words(error: ErrorDetails) -> str:
    words = _WORDS.get(error["type"])
    return words(error.get("ctx", {})) if words else error["msg"]
