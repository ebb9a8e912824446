"""From parsed JSON to the store's frozen dataclasses, strictly: what the type does not say is refused by name."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class ShapeError(ValueError):
    """JSON that does not fit: the message names the place (`$.lines[0].quantity`) and what belongs there."""


def decode(kind: type[T], value: object, path: str = "$") -> T:
    """`value`, a parsed JSON object, as the dataclass `kind`. Lists become tuples; nested dataclasses are followed.

    Raises ShapeError for a missing, unknown or wrongly typed field.
    """
    if not isinstance(value, dict):
        raise ShapeError(f"{path} must be an object")
    hints, required = _plan(cast(Hashable, kind))  # lru_cache asks for Hashable, and mypy doubts that of type[T]
    unknown = sorted(value.keys() - hints.keys())
    if unknown:
        raise ShapeError(f"{path} has unknown fields: {', '.join(unknown)}")
    missing = sorted(required - value.keys())
    if missing:
        raise ShapeError(f"{path} lacks: {', '.join(missing)}")
    return kind(**{name: _typed(hints[name], item, f"{path}.{name}") for name, item in value.items()})


@lru_cache(maxsize=32)
def _plan(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Resolving type hints costs more than decoding with them: once a class is enough."""
    required = frozenset(f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)
    return get_type_hints(kind), required


def _typed(hint: Any, value: object, path: str) -> object:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        kinds = get_args(hint)
        if value is None and NoneType in kinds:
            return None
        return _typed(next(k for k in kinds if k is not NoneType), value, path)
    if origin is tuple:
        if not isinstance(value, list):
            raise ShapeError(f"{path} must be a list")
        return tuple(_typed(get_args(hint)[0], item, f"{path}[{i}]") for i, item in enumerate(value))
    if is_dataclass(hint) and isinstance(hint, type):
        return decode(hint, value, path)
    if type(value) is not hint:  # not isinstance: true and false are no numbers here
        raise ShapeError(f"{path} must be {_WORDS.get(hint, hint)}")
    return value


_WORDS = {str: "text", int: "a whole number"}
