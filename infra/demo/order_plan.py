"""Building blocks for plans of sample orders."""

from __future__ import annotations

from dataclasses import dataclass

NEXT = -1
"""Stands for a title's next volume, which has not come out yet."""
ANY_WAITING = "*"
"""Stands for the most popular title with a volume that is out of stock and has a restock date."""


@dataclass(frozen=True, slots=True)
class Item:
    """Item of an order. `title`: romaji title, or `ANY_WAITING`. `volume`: number, `NEXT`, or None for a full set."""

    title: str
    volume: int | None
    format: str = "physical"
    quantity: int = 1


@dataclass(frozen=True, slots=True)
class Parcel:
    """Parcel of an order. `items`: indices of the order's items. `reached`: the last state that the carrier reported."""

    carrier: str
    service: str
    shipped: str
    reached: str
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """Plan of one order. `number // 1000` is the customer's number. `items`, `parcels`: its contents. `estimated`: promised
    day, None to compute it. Times are `YYYY-MM-DD HH:MM` in Japan."""

    number: int
    ordered: str
    status: str
    items: tuple[Item, ...]
    parcels: tuple[Parcel, ...] = ()
    estimated: str | None = None
    note: str | None = None

    @property
    def owner(self) -> str:
        return f"demo-user-{self.number // 1000}"

    @property
    def order_id(self) -> str:
        return f"MNG-DEMO{self.number}"


PREFECTURES = {
    "demo-user-1": "Tokyo",
    "demo-user-2": "Hokkaido",
    "demo-user-3": "Okinawa",
    "demo-user-4": "Osaka",
    "demo-user-5": "Taiwan",
    "demo-user-6": "Fukuoka",
}


def paper(title: str, *volumes: int) -> tuple[Item, ...]:
    return tuple(Item(title, volume) for volume in volumes)


def digital(title: str, *volumes: int) -> tuple[Item, ...]:
    return tuple(Item(title, volume, "digital") for volume in volumes)


def full_set(title: str) -> tuple[Item, ...]:
    return (Item(title, None, "set"),)


TAKKYUBIN = ("yamato", "takkyubin")
HIKYAKU = ("sagawa", "hikyaku_takuhaibin")
YU_PACKET = ("japan_post", "yu_packet")
YU_PACK = ("japan_post", "yu_pack")
EMS = ("japan_post", "ems")


def sent(
    number: int,
    ordered: str,
    items: tuple[Item, ...],
    by: tuple[str, str],
    shipped: str,
    *,
    reached: str = "delivered",
    estimated: str | None = None,
    note: str | None = None,
) -> OrderPlan:
    """Plans an order that was shipped in one parcel. `by`: carrier and service."""
    parcel = Parcel(*by, shipped, reached, tuple(range(len(items))))
    return OrderPlan(number, ordered, "shipped", items, (parcel,), estimated, note)
