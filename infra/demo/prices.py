"""Sample prices in whole yen with 10 % tax.

New paper books are sold at the publisher's list price everywhere (resale price maintenance). So a title has one price for
all its paper volumes, and a new full set costs their sum. E-books and used sets are exempt: e-books are cheaper, and
discounted during campaigns."""

from __future__ import annotations

from infra.demo.drawing import pick, share, whole
from tools.store.models import Campaign

_NET = {
    "shonen": (480, 500, 500, 530, 550),
    "shojo": (480, 480, 500, 530),
    "kodomo": (440, 460, 500, 550),
    "josei": (480, 530, 600, 630),
    "seinen": (600, 630, 650, 680, 700),
}
_LARGE_NET = (700, 750, 780, 800)
_OLD_BEFORE = 1985
"""Series that began before this year are sold today in larger collectors' formats."""
_CAMPAIGN_SHARE = 0.15
_CAMPAIGNS = (
    Campaign(name="Spring and summer fair", start="03-16", until="09-15"),
    Campaign(name="Autumn and winter fair", start="09-16", until="03-15"),
)
"""Yearly campaigns, one of which runs on any day."""


def list_price(title_id: str, genre: str | None, start_year: int | None, volumes: int) -> int:
    large = (start_year or 2000) < _OLD_BEFORE or volumes == 1
    steps = _LARGE_NET if large else _NET.get(genre or "", _NET["seinen"])
    return pick(steps, "price", title_id) * 11 // 10


def digital_price(title_id: str, paper: int) -> int:
    """Returns a price 22 to 66 yen below the paper price."""
    return paper - whole(2, 6, "digital", title_id) * 11


def campaign(title_id: str, regular: int) -> tuple[int, Campaign] | None:
    """Returns the digital price during a campaign (30 to 50 % off) and the campaign; None for most titles."""
    if share("sale", title_id) >= _CAMPAIGN_SHARE:
        return None
    return regular * pick((50, 60, 70), "sale rate", title_id) // 100, pick(_CAMPAIGNS, "campaign", title_id)


def used_set_price(title_id: str, new: int) -> int:
    """Returns 40 to 65 % of `new`, the sum of the volumes' new prices, rounded down to tens of yen."""
    return new * whole(40, 65, "used set", title_id) // 1000 * 10
