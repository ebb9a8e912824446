"""A way to buy a title, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass

from tools.store.models.values import Count, Text, Yen

PAPER, DIGITAL = "physical", "digital"
"""The two formats that the tools know apart from others."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to buy a title. `stock` is None where copies do not run out (digital)."""

    format: Text
    price_jpy: Yen
    stock: Count | None = None


def price_problem(format_: str, price_jpy: int) -> str | None:
    """Why something cannot cost so much; None when it can. A free first volume is how a digital series begins; nobody gives
    paper away, so that 0 yen is a mistake there."""
    least = 0 if format_ == DIGITAL else 1
    return None if price_jpy >= least else f"must be at least {least} ({format_})"
