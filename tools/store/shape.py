"""Decodes JSON to the store's data models by pydantic: the models' types and limits alone define the shape.

Decoding is strict: true and "3" are not numbers. Unknown fields are refused in files, which people write, and ignored in
backends' records, which a later version may have written."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_json

from tools.store.currency import YEN, Currency, codes

T = TypeVar("T")


MOST_PROBLEMS = 20
"""Most problems reported of one record."""
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class ShapeError(ValueError):
    """JSON does not fit the model. Each of `problems` has a path (`$.lines[0].quantity`) and a reason; the message is the
    first problem."""

    def __init__(self, *problems: str) -> None:
        super().__init__(problems[0])
        self.problems = problems


@contextmanager
def collect(problems: list[str]) -> Iterator[None]:
    """Collects the problems of a ShapeError in a list instead of raising it, so that later checks run too."""
    try:
        yield
    except ShapeError as error:
        problems += error.problems


def _with_value(problem: str, record: Any) -> str:
    """Adds the offending value in `record` to a problem "must …", unless the value is long or not a scalar."""
    place, _, words = problem.partition(" ")
    value = record
    try:
        for name, number in _STEP.findall(place):
            value = value[name or int(number)]
    except (LookupError, TypeError):
        return problem
    shown = to_json(value).decode() if isinstance(value, str | int | float | None) else ""
    return f"{problem} (it is {shown})" if words.startswith("must ") and 0 < len(shown) <= 60 else problem


def decode(kind: type[T], value: object, path: str = "$", *, unknown: Literal["forbid", "ignore"] = "forbid") -> T:
    """Decodes a parsed JSON value as `kind`, a dataclass or a tuple of dataclasses. Lists become tuples. Raises ShapeError
    for missing fields, wrong types and values beyond a limit; for unknown fields unless `unknown` is "ignore"."""
    try:
        written = to_json(value, inf_nan_mode="constants")
    except (ValueError, RecursionError) as error:  # a lone surrogate, or too deeply nested
        raise ShapeError(f"{path} holds what no JSON can say") from error
    return decode_json(kind, written, path, unknown=unknown)


def decode_json(
    kind: type[T], written: bytes | str, path: str = "$", *, unknown: Literal["forbid", "ignore"] = "forbid"
) -> T:
    """Decodes JSON text as `decode` decodes a parsed value. Raises `ShapeError` in the same cases."""
    try:
        return cast(T, _adapter(cast(Hashable, kind)).validate_json(written, strict=True, extra=unknown))
    except ValidationError as error:
        raise ShapeError(*_problems(error, kind, path)) from None


def encode(noun: object) -> dict[str, Any]:
    """Returns the JSON object of a dataclass, without the fields that are None. Checks no limits."""
    return cast(
        dict[str, Any],
        _adapter(cast(Hashable, type(noun))).dump_python(noun, mode="json", exclude_none=True, warnings=False),
    )


@lru_cache(maxsize=32)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _problems(error: ValidationError, kind: Any, path: str) -> list[str]:
    details = error.errors(include_url=False, include_input=False)
    of_objects: dict[tuple[str, tuple[int | str, ...]], list[str]] = {}
    for each in details:
        if each["type"] in _OF_AN_OBJECT:
            of_objects.setdefault((each["type"], each["loc"][:-1]), []).append(str(each["loc"][-1]))
    unknown, others = list[str](), list[str]()
    for (problem, inside), names in of_objects.items():
        place = _place(path, inside)
        if problem == "missing":
            others.append(f"{place} lacks: {', '.join(sorted(names))}")
        else:
            known = [each.name for each in fields(kind)] if not inside else ()
            unknown.append(unknown_fields(place, sorted(names), known))
    others += [f"{_place(path, each['loc'])} {_words(each)}" for each in details if each["type"] not in _OF_AN_OBJECT]
    return [*unknown, *others][:MOST_PROBLEMS]


def unknown_fields(path: str, unknown: Sequence[str], known: Iterable[str]) -> str:
    """Returns the problem text for unknown fields, with the known name most similar to the first of them."""
    near = get_close_matches(unknown[0], list(known), n=1)
    return f"{path} has unknown fields: {', '.join(unknown)}" + (f"; did you mean {near[0]}?" if near else "")


def _place(path: str, location: Sequence[int | str]) -> str:
    return path + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


_OF_AN_OBJECT = ("missing", "unexpected_keyword_argument")
_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "dataclass_type": lambda _: "must be an object",
    "dict_type": lambda _: "must be an object",
    "tuple_type": lambda _: "must be a list",
    "string_type": lambda _: "must be text",
    "int_type": lambda _: "must be a whole number",
    "float_type": lambda _: "must be a number",
    "finite_number": lambda _: "must be a number",
    "string_too_short": lambda _: "must not be empty",
    "string_pattern_mismatch": lambda _: "must not be empty",
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


_AMOUNT = re.compile(r"(price|list_price|unit_price|subtotal|shipping|total)_([a-z]{3})")
_MEND = "or state the shop's currency by MANGA_CURRENCY"


@contextmanager
def in_currency(currency: Currency, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields a copy of the record with amounts in the currency's smallest unit and the models' field names. A ShapeError
    raised in the block gets the file's names and values. Raises ShapeError for an amount with too many decimals or in
    another currency; in yen, looks for such amounts only after an error in the block."""
    problems: list[str] = []
    if record.get("currency") not in (None, currency.code):
        problems.append(f"$.currency must be {currency}, {_MEND}")
    given = _read(currency, record, "$", problems) if problems or currency != YEN else record
    if not problems:
        try:
            yield {name: each for name, each in given.items() if name != "currency"}
        except ShapeError as error:
            _read(currency, record, "$", problems)  # for yen, amounts in other currencies are looked for only after an error
            problems = problems or [_word_problem(currency, each) for each in error.problems]
    if problems:
        raise ShapeError(*(_with_value(each, record) for each in problems)) from None


def _read(currency: Currency, value: Any, path: str, problems: list[str]) -> Any:
    if isinstance(value, list):
        return [_read(currency, each, f"{path}[{number}]", problems) for number, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for name, each in value.items():
        found = _AMOUNT.fullmatch(name)
        if found is None or found[2].upper() not in codes():
            made[name] = _read(currency, each, f"{path}.{name}", problems)
        elif found[2].upper() != currency.code:
            problems.append(f"{path}.{name} is in another currency: write {found[1]}_{currency.code.lower()}, {_MEND}")
        else:
            made[f"{found[1]}_jpy"] = _smallest(currency, each, f"{path}.{name}", problems)
    return made


def _smallest(currency: Currency, value: Any, path: str, problems: list[str]) -> Any:
    """Converts an amount to smallest units; notes too many decimals in `problems`. Keeps any value that is no number."""
    if currency.decimals == 0 or type(value) not in (int, float):
        return value
    units = Decimal(repr(value)).scaleb(currency.decimals)
    if units == units.to_integral_value():
        return int(units)
    problems.append(f"{path} must have at most {currency.decimals} decimals")
    return value


def _word_problem(currency: Currency, problem: str) -> str:
    told = currency.rename(problem)
    return told if told == problem or not currency.decimals else told.replace("a whole number", "a number")
