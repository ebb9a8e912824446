"""What a complete set saves.

New books cost what their publisher says, in every shop (resale price maintenance), so that new volumes cost together what
they cost singly. Less than that a set can only cost where the publisher sells it at a price of its own, or where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.store.models import PAPER, USED_SET, Offer

USED = "The volumes are used; new ones have a fixed price."
PUBLISHERS = "The publisher sells the set at a price of its own."
FIXED_PRICE = "New volumes have a fixed price: together they cost what they cost singly."


@dataclass(frozen=True, slots=True)
class Saving:
    """Yen, and whole per cent rounded down, less than all volumes of the format `against`; never below 0."""

    jpy: int
    percent: int
    why: str
    against: str = PAPER


def saving_of(offer: Offer, singles: int | None) -> Saving | None:
    """What a set saves against the new volumes, which cost `singles` one by one; None where that is not known."""
    if not singles:
        return None
    if offer.format != USED_SET and offer.list_price_jpy is None:
        return Saving(0, 0, FIXED_PRICE)
    saved = max(0, singles - offer.price_jpy)
    return Saving(saved, 100 * saved // singles, USED if offer.format == USED_SET else PUBLISHERS)
