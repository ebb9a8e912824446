"""Numbers of payment cards, which the shop keeps nowhere."""

from __future__ import annotations

import re

NUMBER = re.compile(r"(?<![0-9])[0-9](?:[ -]?[0-9]){12,18}(?![0-9])")
"""13 to 19 digits (ISO/IEC 7812-1), however they are parted."""


def names_card(text: str) -> bool:
    """Whether a number in it has the check digit of a card."""
    return any(_checked(re.sub("[ -]", "", match[0])) for match in NUMBER.finditer(text))


def _checked(digits: str) -> bool:
    """By Luhn's formula (ISO/IEC 7812-1, annex B): every second digit from the right is doubled."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0
