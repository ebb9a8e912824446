"""Amounts of money in a record that somebody wrote: by the shop's one currency, and under their names inside the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from tools.store.currency import YEN, Currency, codes
from tools.store.records.shape import ShapeError, naming_values

_AMOUNT = re.compile(r"(price|list_price|unit_price|subtotal|shipping|total)_([a-z]{3})")
_MEND = "or state the shop's currency by MANGA_CURRENCY"


@contextmanager
def in_currency(currency: Currency, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Renames the record's amounts to the names inside the server, and problems back to the file's names, with their values.
    Raises ShapeError with every amount of another currency or with too many decimals."""
    problems: list[str] = []
    with naming_values(record):
        if record.get("currency") not in (None, currency.code):
            problems.append(f"$.currency must be {currency}, {_MEND}")
        given = record
        if problems or currency != YEN:
            given = _read(currency, record, "$", problems)
        if problems:
            raise ShapeError(*problems)
        try:
            yield {name: each for name, each in given.items() if name != "currency"}
        except ShapeError as error:
            _read(currency, record, "$", problems)  # of yen an amount in another currency is only looked for now
            raise ShapeError(*(problems or (_word_problem(currency, each) for each in error.problems))) from None


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
    """The amount in the smallest unit; a value that is no number is left to the record's reader."""
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
