"""The shop's one currency (`MANGA_CURRENCY`, ISO 4217): field names, format and wording of amounts.

In files, answers and arguments the name of an amount ends in the currency (`price_usd`), and the value is in whole units
with decimals (7.99). Inside the server every amount is an integer of the smallest unit under its yen name (`price_jpy`).
`Currency` converts between the two; for yen they are the same."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from math import inf
from typing import Any

_IN_YEN = re.compile(r"\b(?:[a-z]+_)+jpy\b", re.ASCII)


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files("tools.store").joinpath("currencies.toml").read_text("utf-8"))


@cache
def codes() -> frozenset[str]:
    return frozenset(_table()["codes"].split())


@dataclass(frozen=True, slots=True)
class Currency:
    code: str = "JPY"

    @classmethod
    def parse(cls, text: str) -> Currency:
        """Parses an ISO 4217 code in any letter case. Raises ValueError for any other text."""
        if text.upper() not in codes():
            raise ValueError("has to be a currency's code by ISO 4217, such as JPY, USD or EUR")
        return cls(text.upper())

    def __str__(self) -> str:
        return self.code

    @property
    def decimals(self) -> int:
        decimals = _table()["decimals"]
        return 0 if self.code in decimals["none"] else 3 if self.code in decimals["three"] else 2

    @property
    def unit(self) -> int:
        """The number of smallest units in one whole unit: 1, 100 or 1,000."""
        return int(10**self.decimals)

    @property
    def noun(self) -> str:
        """The currency's noun in customers' queries, such as "dollar"; by default its code in lower case."""
        return str(self._words.get("spoken", self.code.lower()))

    @property
    def least_bare_amount(self) -> float:
        """The least number that counts as money without a currency word beside it; infinite if no number does."""
        return float(self._words.get("bare", inf))

    @property
    def above_any_volume(self) -> float:
        """An amount in whole units above the price of any single volume; infinite if unknown."""
        return float(self._words.get("dear", inf))

    @property
    def _words(self) -> Mapping[str, Any]:
        return dict(_table()["words"].get(self.code, {}))

    # Amounts

    def amount(self, smallest: int) -> int | float:
        """Converts smallest units to the value in files and answers: 799 cents to 7.99."""
        return smallest if self.decimals == 0 else smallest / self.unit

    def say(self, smallest: float, language: str = "en") -> str:
        """Formats an amount of smallest units for people: "700 yen", "$7", "$7.50" or, in Japanese, "7.50ドル"."""
        whole = smallest % self.unit == 0
        digits = f"{smallest / self.unit:,.{0 if whole else self.decimals}f}"
        words = self._words
        if language == "ja" or "en" in words:
            return f"{digits}{words.get(language, f' {self.code}')}"
        return f"{words.get('sign', f'{self.code} ')}{digits}"

    def parse_amount(self, text: str) -> int | None:
        """Parses an amount as people write it ("$20", "20 dollars", 20ドル) to smallest units; None for other text."""
        words = {self.code, self.noun, f"{self.noun}s", *(self._words.get(name, "") for name in ("sign", "ja"))} - {""}
        signs = {each[-1] for each in words if not each[-1].isalnum()}
        words_of_it = "|".join(re.escape(each) for each in sorted(words | signs, key=len, reverse=True))
        found = re.fullmatch(
            rf"(?:(?:{words_of_it}) ?)?([0-9][0-9,]{{0,11}}(?:\.[0-9]+)?)(?: ?(?:{words_of_it}))?", text, re.IGNORECASE
        )
        units = Decimal(found[1].replace(",", "")).scaleb(self.decimals) if found else None
        return int(units) if units is not None and units == units.to_integral_value() else None

    # Names

    def rename(self, text: str) -> str:
        """Replaces yen field names in a sentence by this currency's: `price_jpy` by `price_usd`."""
        return text if self.code == "JPY" else _IN_YEN.sub(lambda found: self.field(found[0]), text)

    def field(self, name: str) -> str:
        """Returns the external name of an amount's field; any other name unchanged."""
        return f"{name[:-3]}{self.code.lower()}" if _is_amount(name) else name

    def internal_field(self, name: str) -> str:
        """Returns the internal name of an amount's field, the inverse of `field`; any other name unchanged."""
        own = f"_{self.code.lower()}"
        return f"{name.removesuffix(own)}_jpy" if name.endswith(own) else name

    def show(self, value: Any) -> Any:
        """Converts an answer to the external names and amounts of this currency."""
        if self.code == "JPY":
            return value
        if isinstance(value, Mapping):
            return {
                self.field(name): self.amount(each) if _is_amount(name) and type(each) is int else self.show(each)
                for name, each in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.show(each) for each in value]
        return self.rename(value) if isinstance(value, str) else value

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Converts validated arguments to the internal names and smallest units."""
        converted: dict[str, Any] = {}
        for name, value in given.items():
            internal = self.internal_field(name)
            is_amount = internal != name and isinstance(value, int | float)
            converted[internal] = round(value * self.unit) if is_amount else value
        return converted

    def adapt(self, schema: Any) -> Any:
        """Converts a JSON Schema to the external names and amounts of this currency."""
        if self.code == "JPY":
            return schema
        if isinstance(schema, Mapping):
            return {
                self.field(name): self._rule(each) if _is_amount(name) and isinstance(each, Mapping) else self.adapt(each)
                for name, each in schema.items()
            }
        if isinstance(schema, list | tuple):
            return [self.field(each) if isinstance(each, str) else self.adapt(each) for each in schema]
        return self.rename(schema) if isinstance(schema, str) else schema

    def _rule(self, rule: Mapping[str, Any]) -> dict[str, Any]:
        made = {name: self.adapt(each) for name, each in rule.items()}
        if "anyOf" in made:
            made["anyOf"] = [self._rule(each) for each in made["anyOf"]]
        if self.decimals and made.get("type") == "integer":
            made["type"] = "number"
        return made | {name: self.amount(made[name]) for name in ("minimum", "maximum") if name in made}


def _is_amount(name: str) -> bool:
    return name == "jpy" or name.endswith("_jpy")


YEN = Currency()
