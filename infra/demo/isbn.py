"""ISBN-13 of the demo store's volumes (ISO 2108): 978, 4 for Japan, publisher, volume, check digit."""

from __future__ import annotations

from infra.demo.drawing import whole

_GROUP = "9784"
_FREE_DIGITS = 8
"""Digits of the publisher's number and the volume's number together."""


def with_check_digit(first_twelve: str) -> str:
    """Appends the check digit, which makes the sum of digits, weighted 1, 3, 1, 3, …, a multiple of 10."""
    total = sum(int(digit) * (3 if position % 2 else 1) for position, digit in enumerate(first_twelve))
    return f"{first_twelve}{-total % 10}"


class IsbnRegister:
    """Allots each ISBN once. A volume's ISBN is a hash of its title id and number, so new titles rarely change existing
    ISBNs. If two volumes get the same ISBN, the later request takes the next free one."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def allot(self, publisher: str, title_id: str, volume: int) -> str:
        """Returns a volume's ISBN. `publisher`: registrant number, 2 to 6 digits. Raises ValueError if no ISBN is left."""
        width = _FREE_DIGITS - len(publisher)
        number = whole(0, 10**width - 1, "isbn", title_id, volume)
        for step in range(10**width):
            isbn = with_check_digit(f"{_GROUP}{publisher}{(number + step) % 10**width:0{width}}")
            if isbn not in self._taken:
                self._taken.add(isbn)
                return isbn
        raise ValueError(f"publisher {publisher} has no ISBN left")
