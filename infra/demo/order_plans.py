"""Plans of the sample orders, in Japanese time. All other values of an order are computed from the plan and the catalogue.

So a price or an ISBN in an order is the one at which the store sells.
"""

from __future__ import annotations

from infra.demo.order_plan import (
    ANY_WAITING,
    EMS,
    HIKYAKU,
    NEXT,
    TAKKYUBIN,
    YU_PACK,
    YU_PACKET,
    Item,
    OrderPlan,
    Parcel,
    digital,
    full_set,
    paper,
    sent,
)

PLANS = (
    sent(1001, "2026-09-03 21:14", paper("One Piece", 1, 2, 3) + paper("Spy x Family", 1), TAKKYUBIN, "2026-09-04 15:20"),
    sent(
        1002,
        "2026-11-18 22:41",
        paper("Sousou no Frieren", 1, 2, 3, 4, 5),
        TAKKYUBIN,
        "2026-11-20 15:05",
        reached="in_transit",
        estimated="2026-11-21",
    ),
    OrderPlan(1003, "2026-11-10 12:02", "paid", paper("One Piece", NEXT), note="Pre-order: arrives on the day of release."),
    OrderPlan(1004, "2026-10-25 23:30", "paid", digital("Chainsaw Man", 1, 2), note="Digital volumes are in your library."),
    OrderPlan(
        1005,
        "2026-10-02 08:55",
        "cancelled",
        paper("Blue Lock", 1, 2),
        note="Cancelled at the customer's request before packing; nothing was charged.",
    ),
    OrderPlan(
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
    sent(2001, "2026-11-14 20:05", paper("Haikyuu!!", 1, 2, 3), HIKYAKU, "2026-11-16 15:30"),
    OrderPlan(
        2002,
        "2026-11-12 10:48",
        "in_preparation",
        (Item(ANY_WAITING, None),),
        note="Back-order: a copy is on its way from the publisher, usually within 1 to 4 weeks.",
    ),
    OrderPlan(
        2003,
        "2026-10-05 18:19",
        "returned",
        paper("Death Note", 1),
        (Parcel("yamato", "takkyubin", "2026-10-06 15:15", "delivered", (0,)),),
        note="Returned on 2026-10-12: the book was damaged on arrival; refunded, the shop paid the return shipping.",
    ),
    OrderPlan(
        3001,
        "2026-11-20 07:52",
        "received",
        paper("Fruits Basket", 1, 2) + paper("Nana", 1),
        estimated="2026-11-26",
    ),
    sent(
        3002,
        "2026-10-18 13:37",
        paper("Orange", 1, 2),
        YU_PACKET,
        "2026-10-19 16:00",
        note="Put into the letterbox: Yu-Packet has no choice of date or time.",
    ),
    OrderPlan(
        4001,
        "2026-11-19 23:58",
        "payment_pending",
        paper("Slam Dunk", 1, 2, 3, 4),
        note="Held for payment until 2026-11-26, then cancelled.",
    ),
    sent(
        4002,
        "2026-11-16 09:12",
        paper("Monster", 1, 2),
        TAKKYUBIN,
        "2026-11-17 15:45",
        reached="held",
        note="Nobody was at home on 2026-11-18; the parcel waits at the delivery office until 2026-11-25.",
    ),
    sent(5001, "2026-10-28 14:20", paper("Bishoujo Senshi Sailor Moon", 1, 2), EMS, "2026-10-30 15:00"),
    OrderPlan(5002, "2026-11-17 16:44", "paid", digital("Oshi no Ko", 1), note="Digital volumes are in your library."),
    sent(6001, "2026-09-21 11:08", full_set("Hagane no Renkinjutsushi"), YU_PACK, "2026-09-22 15:40"),
    OrderPlan(
        6002,
        "2026-11-13 21:36",
        "paid",
        paper("Spy x Family", 1, NEXT),
        note="Sent in one parcel, to arrive on the day the later volume is released.",
    ),
    OrderPlan(
        6003,
        "2026-11-20 06:30",
        "in_preparation",
        paper("Kingdom", 1, 2) + digital("Kingdom", 3),
        estimated="2026-11-24",
        note="The digital volume is in your library; the paper ones are being packed.",
    ),
)
