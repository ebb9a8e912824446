"""Numbers of payment cards, which the shop keeps nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

GROUPS = re.compile(r"[0-9]+(?:[ ./-]+[0-9]+)*")
LEAST, MOST = 13, 19
"""Digits of a number (ISO/IEC 7812-1)."""


def names_card(text: str) -> bool:
    """Whether a number in it has the check digit of a card, however it is parted and whatever numbers stand beside it."""
    return any(_checked(number) for match in GROUPS.finditer(text) for number in _numbers(re.findall("[0-9]+", match[0])))


def _numbers(groups: list[str]) -> Iterator[str]:
    """What any groups in a row make."""
    for first in range(len(groups)):
        number = ""
        for group in groups[first:]:
            number += group
            if len(number) > MOST:
                break
            if len(number) >= LEAST:
                yield number


def _checked(digits: str) -> bool:
    """By Luhn's formula (ISO/IEC 7812-1, annex B): every second digit from the right is doubled."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0
