"""DynamoDB's typed JSON (`{"S": "text"}`, `{"N": "12"}`, …) to plain values and back.

Numbers are whole, but for amounts of a currency that has decimals; there is no binary."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

from tools.store.currency import Currency
from tools.store.records.shape import ShapeError

Attribute = dict[str, Any]
Item = dict[str, Attribute]


def attribute(value: object) -> Attribute:
    """The attribute that holds a plain value. Raises TypeError for what has no place in an item."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, dict):
        return {"M": make_item(value)}
    if isinstance(value, (list, tuple)):
        return {"L": [attribute(each) for each in value]}
    raise TypeError(f"{type(value).__name__} has no place in an item")


def make_item(values: Mapping[str, object]) -> Item:
    return {name: attribute(value) for name, value in values.items()}


def in_currency(currency: Currency, item: Item) -> Item:
    """The item with the names and amounts of a currency, as its table has them."""
    if currency.code == "JPY":
        return item
    return {currency.field(name): _outward(currency, name, each) for name, each in item.items()}


def _outward(currency: Currency, name: str, held: Attribute) -> Attribute:
    if "N" in held and currency.field(name) != name:
        return {"N": str(Decimal(held["N"]).scaleb(-currency.decimals))}
    if "M" in held:
        return {"M": in_currency(currency, held["M"])}
    return {"L": [_outward(currency, "", each) for each in held["L"]]} if "L" in held else held


def from_currency(currency: Currency, item: Item) -> Item:
    """An item of a table with the names and amounts that they have inside the server."""
    if currency.code == "JPY":
        return item
    own = f"_{currency.code.lower()}"
    return {
        f"{name.removesuffix(own)}_jpy" if name.endswith(own) else name: _inward(currency, each, amount=name.endswith(own))
        for name, each in item.items()
    }


def _inward(currency: Currency, held: Any, *, amount: bool) -> Any:
    """Unchanged where it is of no kind that belongs there, which whoever reads it says."""
    kind, value = next(iter(held.items())) if isinstance(held, dict) and len(held) == 1 else ("", None)
    if kind == "N" and amount and isinstance(value, str):
        with suppress(ArithmeticError, ValueError):
            return {"N": str(int(Decimal(value).scaleb(currency.decimals)))}
    if kind == "M" and isinstance(value, dict):
        return {"M": from_currency(currency, value)}
    if kind == "L" and isinstance(value, list):
        return {"L": [_inward(currency, each, amount=False) for each in value]}
    return held


def plain(value: object, path: str) -> Any:
    """The value that an attribute holds. Raises ShapeError, with the path, for what is none or of an unknown kind."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, held),) = value.items()
        if kind == "S" and isinstance(held, str):
            return held
        if kind == "N" and isinstance(held, str):
            with suppress(ValueError):
                return int(held)
        if kind == "NULL":
            return None
        if kind == "BOOL" and isinstance(held, bool):
            return held
        if kind == "M" and isinstance(held, dict):
            return {name: plain(each, f"{path}.{name}") for name, each in held.items()}
        if kind == "L" and isinstance(held, list):
            return [plain(each, f"{path}[{i}]") for i, each in enumerate(held)]
    raise ShapeError(f"{path} is no attribute that belongs here")


def read_fields(held: Mapping[str, Any], names: Collection[str], path: str = "$") -> dict[str, Any]:
    """The members of a map or an item that have one of the names, as plain values. Raises ShapeError."""
    values: dict[str, Any] = {}
    for name, each in held.items():
        if name in names:
            # Most of what a large item holds are numbers and texts, and hundreds of them are read at a time.
            alone = type(each) is dict and len(each) == 1
            if alone and type(number := each.get("N")) is str and number.isdecimal():
                values[name] = int(number)
            elif alone and type(held_text := each.get("S")) is str:
                values[name] = held_text
            else:
                values[name] = plain(each, f"{path}.{name}")
    return values


def text(item: Any, name: str) -> str:
    """The attribute `name` of an item, which has to be text that is not empty."""
    try:
        held = item[name]["S"]
    except (KeyError, TypeError):
        held = None
    if type(held) is str and held:
        return held
    raise ShapeError(f"$.{name} must be text that is not empty")


def members(held: object, path: str) -> dict[str, Any]:
    """The members of an attribute that has to be a map; the values are still attributes."""
    inside = held.get("M") if isinstance(held, dict) else None
    if not isinstance(inside, dict):
        raise ShapeError(f"{path} must be a map")
    return inside


def fits_as_key(value: str, longest: int = 2048) -> bool:
    """True if DynamoDB would take the text as a key of at most `longest` bytes: 2048 for a partition key, 1024 for a sort
    key."""
    try:
        return 0 < len(value.encode()) <= longest
    except UnicodeEncodeError:  # half a character
        return False
