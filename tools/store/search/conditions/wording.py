"""Describes conditions and orderings in English."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.store.currency import YEN, Currency
from tools.store.models import PAPER, Audience, Conditions, Ordering, Range, Status

_STATUSES = {
    Status.FINISHED: "finished",
    Status.PUBLISHING: "still running",
    Status.HIATUS: "on hiatus",
    Status.DISCONTINUED: "discontinued",
}
_AUDIENCES = {
    Audience.ALL_AGES: "for all ages",
    Audience.TEEN: "for teenagers or younger",
    Audience.OLDER_TEEN: "for 16 or younger, nothing adult",
    Audience.ADULT: "for adults or younger",
}
_ORDERINGS = {
    Ordering.POPULARITY: "most popular first",
    Ordering.RATING: "best rated first",
    Ordering.NEWEST: "newest first",
    Ordering.SHORTEST: "shortest first",
    Ordering.PRICE: "cheapest first",
}


def describe_condition(name: str, conditions: Conditions, currency: Currency = YEN) -> str:
    """Describes the condition in the field `name` of `conditions`, such as "at most 9 volumes" or "at most $7 a volume"."""
    value = getattr(conditions, name)
    if name in _PRICES:
        return f"{_bounds(value, currency.say, currency.say)} {_PRICES[name]}"
    return _WORDINGS[name](value)


def describe_ordering(ordering: Ordering) -> str:
    return _ORDERINGS[ordering]


def _bounds(range_: Range, one: Callable[[float], str], first: Callable[[float], str] = "{:g}".format) -> str:
    """Describes a range: "5 to 9 volumes". `one` formats a number with its unit, `first` the lower of two numbers."""
    least, most = range_.least, range_.most
    if range_.empty:
        return f"at least {first(least or 0)} and at most {one(most or 0)}"
    if least is not None and most is not None:
        return one(most) if least == most else f"{first(least)} to {one(most)}"
    return f"at least {one(least)}" if least is not None else f"at most {one(most or 0)}"


def _volumes(range_: Range) -> str:
    return _bounds(range_, lambda number: f"{number:g} volume{'' if number == 1 else 's'}")


def _years(range_: Range) -> str:
    least, most = range_.least, range_.most
    if range_.empty:
        return f"begun in {least:g} or later and by {most:g}"
    if least is not None and most is not None:
        return f"begun in {least:g}" if least == most else f"begun {least:g} to {most:g}"
    return f"begun in {least:g} or later" if least is not None else f"begun by {most:g}"


_either = " or ".join
_PRICES = {"price": "a volume", "series_price": "for the series"}
_WORDINGS: dict[str, Callable[[Any], str]] = {
    "genres": _either,
    "author": lambda name: f"by {name}",
    "min_rating": lambda least: f"rated at least {least:g}",
    "statuses": lambda statuses: _either([_STATUSES[status] for status in statuses]),
    "volumes": _volumes,
    "years": _years,
    "audience": lambda audience: _AUDIENCES[audience],
    "tags": lambda groups: " and ".join(_either(group) for group in groups),
    "magazines": lambda names: f"from {_either(names)}",
    "format": lambda name: "on paper" if name == PAPER else str(name),
    "in_stock": lambda _: "in stock",
    "all_volumes": lambda _: "all volumes in stock",
    "without_tags": lambda names: f"without {_either(names)}",
    "without_genres": lambda names: f"no {_either(names)}",
    "without_authors": lambda names: f"not by {_either(names)}",
    "without_magazines": lambda names: f"not from {_either(names)}",
    "without_titles": lambda _: "without titles that were named",
    "no_adult": lambda _: "nothing adult",
}
