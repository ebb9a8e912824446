"""Sample stock: the paper volumes of a title, the copies of each, and the restock dates of volumes that are sold out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta

from infra.demo.drawing import share, whole
from infra.demo.isbn import IsbnRegister
from tools.store.models import VolumeStock

REFERENCE_DATE = date(2026, 11, 20)
"""The day that the sample data describes: future deliveries, releases and open orders are relative to it."""

FAMOUS_RANK = 60
"""Titles up to this rank of popularity always have volume 1 in stock."""

_ALWAYS_UPCOMING_RANK = 20
_UPCOMING_SHARE = 0.25
_GONE_SHARE, _GAPPY_SHARE = 0.06, 0.14
_OUT_RATE = {"famous": 0.02, "gone": 1.0, "gappy": 0.3, "complete": 0.03}
"""Probability that a volume is out of stock: some titles are gone, some have gaps, most are nearly complete."""
_RESTOCK_SHARE = 0.7
_SOON, _APART = 75, 28
"""Days. Series that do not continue soon do so in turn, one every four weeks, so that each month has a release."""


@dataclass(frozen=True, slots=True)
class ShelfTitle:
    """Attributes of a title that determine its stock. `price`: list price of a volume in yen. `volumes`: number of released
    volumes. `waits`: position, from 0, among the ongoing series that do not continue soon."""

    title_id: str
    registrant: str
    price: int
    volumes: int
    rank: int
    ongoing: bool
    waits: int = 0

    @property
    def famous(self) -> bool:
        return self.rank <= FAMOUS_RANK


def stocked_volumes(title: ShelfTitle, register: IsbnRegister) -> list[VolumeStock]:
    """Returns the released volumes in order, and for an ongoing series the next volume, which can only be pre-ordered. In an
    ongoing series, the last two released volumes and the next one have a release date."""
    out_rate = _OUT_RATE[_state(title)]
    volumes = [_volume(title, number, out_rate, register) for number in range(1, title.volumes + 1)]
    if title.ongoing:
        volumes[-2:] = [replace(volume, release_date=_came_out(title, volume.volume)) for volume in volumes[-2:]]
        volumes.append(_upcoming(title, register))
    return volumes


def continues_soon(title_id: str, rank: int) -> bool:
    """True if the next volume of an ongoing series comes out within eleven weeks."""
    return rank <= _ALWAYS_UPCOMING_RANK or share("upcoming", title_id) < _UPCOMING_SHARE


def _state(title: ShelfTitle) -> str:
    if title.famous:
        return "famous"
    draw = share("shelf", title.title_id)
    if draw < _GONE_SHARE:
        return "gone"
    return "gappy" if draw < _GONE_SHARE + _GAPPY_SHARE else "complete"


def _volume(title: ShelfTitle, number: int, out_rate: float, register: IsbnRegister) -> VolumeStock:
    isbn = register.allot(title.registrant, title.title_id, number)
    out = share("out", title.title_id, number) < out_rate and not (title.famous and number == 1)
    stock = 0 if out else _copies(title, number)
    restock = _restock_date(title, number, out_rate) if out else None
    return VolumeStock(number, isbn, "physical", title.price, stock, restock)


def _copies(title: ShelfTitle, number: int) -> int:
    wanted = number == 1 or (title.ongoing and number >= title.volumes - 1)
    low, high = (12, 60) if wanted and title.famous else (4, 40) if wanted else (1, 18)
    return whole(low, high, "copies", title.title_id, number)


def _restock_date(title: ShelfTitle, number: int, out_rate: float) -> str | None:
    """Returns the restock date of a volume that is sold out; None if unknown."""
    key = ("restock", title.title_id) if out_rate == _OUT_RATE["gone"] else ("restock", title.title_id, number)
    return _days_on(whole(4, 28, *key, "days")) if share(*key) < _RESTOCK_SHARE else None


def _upcoming(title: ShelfTitle, register: IsbnRegister) -> VolumeStock:
    number = title.volumes + 1
    isbn = register.allot(title.registrant, title.title_id, number)
    soon = continues_soon(title.title_id, title.rank)
    days = whole(12, 75, "release", title.title_id, number) if soon else _SOON + _APART * (title.waits + 1)
    release = _days_on(days)
    return VolumeStock(number, isbn, "physical", title.price, 0, release_date=release)


def _came_out(title: ShelfTitle, number: int) -> str:
    ago = whole(0, 119, "came out", title.title_id)
    return _days_on(-ago - (title.volumes - number) * whole(80, 150, "between", title.title_id))


def _days_on(days: int) -> str:
    return (REFERENCE_DATE + timedelta(days=days)).isoformat()
