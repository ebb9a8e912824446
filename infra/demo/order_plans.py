"""The sample orders, as a person would tell them. Times are Japanese; everything else is worked out from here.

Numbers come from the catalogue, so a price or an ISBN in an order is the one the store sells at.
"""

from __future__ import annotations

from dataclasses import dataclass

NEXT = -1
"""Stands for the volume of a title that has not come out yet."""
ANY_WAITING = "*"
"""Stands for the most popular title with a volume that is out of stock and has a restock date."""


@dataclass(frozen=True, slots=True)
class Item:
    """`title` is the romaji title in the catalogue; `volume` is None for a full set."""

    title: str
    volume: int | None
    format: str = "physical"
    quantity: int = 1


@dataclass(frozen=True, slots=True)
class Parcel:
    """`items` are positions in the order; `reached` is the last state the carrier has reported."""

    carrier: str
    service: str
    shipped: str
    reached: str
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """One order. The thousands of its `number` are the customer; `ordered` and `shipped` are `YYYY-MM-DD HH:MM`."""

    number: int
    ordered: str
    status: str
    items: tuple[Item, ...]
    parcels: tuple[Parcel, ...] = ()
    estimated: str | None = None
    note: str | None = None

    @property
    def owner(self) -> str:
        """The customer's id, the only thing the store knows of a customer beside the prefecture."""
        return f"demo-user-{self.number // 1000}"

    @property
    def order_id(self) -> str:
        """`MNG-` and eight letters or digits."""
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
    """One copy of each of the volumes."""
    return tuple(Item(title, volume) for volume in volumes)


def digital(title: str, *volumes: int) -> tuple[Item, ...]:
    """Each of the volumes as an e-book."""
    return tuple(Item(title, volume, "digital") for volume in volumes)


def full_set(title: str) -> tuple[Item, ...]:
    """All paper volumes in one bundle."""
    return (Item(title, None, "set"),)


PLANS = (
    Plan(
        1001,
        "2026-09-03 21:14",
        "shipped",
        paper("One Piece", 1, 2, 3) + paper("Spy x Family", 1),
        (Parcel("yamato", "takkyubin", "2026-09-04 15:20", "delivered", (0, 1, 2, 3)),),
    ),
    Plan(
        1002,
        "2026-11-18 22:41",
        "shipped",
        paper("Sousou no Frieren", 1, 2, 3, 4, 5),
        (Parcel("yamato", "takkyubin", "2026-11-20 15:05", "in_transit", (0, 1, 2, 3, 4)),),
        estimated="2026-11-21",
    ),
    Plan(1003, "2026-11-10 12:02", "paid", paper("One Piece", NEXT), note="Pre-order: arrives on the day of release."),
    Plan(1004, "2026-10-25 23:30", "paid", digital("Chainsaw Man", 1, 2), note="Digital volumes are in your library."),
    Plan(
        1005,
        "2026-10-02 08:55",
        "cancelled",
        paper("Blue Lock", 1, 2),
        note="Cancelled at the customer's request before packing; nothing was charged.",
    ),
    Plan(
        1006,
        "2026-11-15 19:27",
        "shipped",
        full_set("Kimetsu no Yaiba") + paper("Jujutsu Kaisen", 1, 2),
        (
            Parcel("sagawa", "hikyaku_takuhaibin", "2026-11-17 16:10", "delivered", (0,)),
            Parcel("sagawa", "hikyaku_takuhaibin", "2026-11-19 16:40", "out_for_delivery", (1, 2)),
        ),
        estimated="2026-11-20",
        note="Sent in two parcels: the set was ready first.",
    ),
    Plan(
        2001,
        "2026-11-14 20:05",
        "shipped",
        paper("Haikyuu!!", 1, 2, 3),
        (Parcel("sagawa", "hikyaku_takuhaibin", "2026-11-16 15:30", "delivered", (0, 1, 2)),),
    ),
    Plan(
        2002,
        "2026-11-12 10:48",
        "in_preparation",
        (Item(ANY_WAITING, None),),
        note="Back-order: a copy is on its way from the publisher, usually within 1 to 4 weeks.",
    ),
    Plan(
        2003,
        "2026-10-05 18:19",
        "returned",
        paper("Death Note", 1),
        (Parcel("yamato", "takkyubin", "2026-10-06 15:15", "delivered", (0,)),),
        note="Returned on 2026-10-12: the book was damaged on arrival; refunded, the shop paid the return shipping.",
    ),
    Plan(
        3001,
        "2026-11-20 07:52",
        "received",
        paper("Fruits Basket", 1, 2) + paper("Nana", 1),
        estimated="2026-11-26",
    ),
    Plan(
        3002,
        "2026-10-18 13:37",
        "shipped",
        paper("Orange", 1, 2),
        (Parcel("japan_post", "yu_packet", "2026-10-19 16:00", "delivered", (0, 1)),),
        note="Put into the letterbox: Yu-Packet has no choice of date or time.",
    ),
    Plan(
        4001,
        "2026-11-19 23:58",
        "payment_pending",
        paper("Slam Dunk", 1, 2, 3, 4),
        note="Held for payment until 2026-11-26, then cancelled.",
    ),
    Plan(
        4002,
        "2026-11-16 09:12",
        "shipped",
        paper("Monster", 1, 2),
        (Parcel("yamato", "takkyubin", "2026-11-17 15:45", "held", (0, 1)),),
        note="Nobody was at home on 2026-11-18; the parcel waits at the delivery office until 2026-11-25.",
    ),
    Plan(
        5001,
        "2026-10-28 14:20",
        "shipped",
        paper("Bishoujo Senshi Sailor Moon", 1, 2),
        (Parcel("japan_post", "ems", "2026-10-30 15:00", "delivered", (0, 1)),),
    ),
    Plan(5002, "2026-11-17 16:44", "paid", digital("Oshi no Ko", 1), note="Digital volumes are in your library."),
    Plan(
        6001,
        "2026-09-21 11:08",
        "shipped",
        full_set("Hagane no Renkinjutsushi"),
        (Parcel("japan_post", "yu_pack", "2026-09-22 15:40", "delivered", (0,)),),
    ),
    Plan(
        6002,
        "2026-11-13 21:36",
        "paid",
        paper("Spy x Family", 1, NEXT),
        note="Sent in one parcel, to arrive on the day the later volume is released.",
    ),
    Plan(
        6003,
        "2026-11-20 06:30",
        "in_preparation",
        paper("Kingdom", 1, 2) + digital("Kingdom", 3),
        estimated="2026-11-24",
        note="The digital volume is in your library; the paper ones are being packed.",
    ),
)
