"""Tracking events of sample parcels, with English states common to all carriers and each carrier's own Japanese words."""

from __future__ import annotations

from datetime import datetime, timedelta

from infra.demo.clock import utc
from tools.store.models import TrackingEvent

_LABELS = {
    "yamato": {
        "accepted": "荷物受付",
        "in_transit": "作業店通過",
        "at_delivery_office": "配達店到着",
        "out_for_delivery": "配達中",
        "absent": "持戻",
        "held": "保管中",
        "delivered": "配達完了",
    },
    "sagawa": {
        "accepted": "集荷",
        "in_transit": "輸送中",
        "at_delivery_office": "営業所到着",
        "out_for_delivery": "配達中",
        "absent": "ご不在",
        "held": "保管中",
        "delivered": "配達完了",
    },
    "japan_post": {
        "accepted": "引受",
        "in_transit": "中継",
        "at_customs": "通関手続中",
        "at_delivery_office": "到着",
        "out_for_delivery": "持ち出し中",
        "absent": "ご不在のため持ち戻り",
        "held": "保管",
        "delivered": "お届け済み",
    },
}

_HOURS = {
    "accepted": 0,
    "in_transit": 5,
    "at_customs": 40,
    "at_delivery_office": 14,
    "out_for_delivery": 16,
    "absent": 19,
    "held": 21,
    "delivered": 19,
}
"""Hours from acceptance, in the afternoon, to each scan of a parcel; distance adds to the later ones."""
_OVERSEAS_DAYS = 4
_FARTHER_HOURS = {"hokkaido": 24, "okinawa": 48, "kyushu": 24}
_WAREHOUSE = "Saitama"


def label(carrier: str, status: str) -> str:
    return _LABELS[carrier][status]


def events(carrier: str, shipped_at: datetime, reached: str, region: str, place: str) -> tuple[TrackingEvent, ...]:
    """Returns a parcel's tracking events up to the state `reached`, oldest first. `place`: prefecture or country."""
    return tuple(
        TrackingEvent(
            status=status,
            at=utc(shipped_at + _after(status, region)),
            place=_WAREHOUSE if status in ("accepted", "in_transit") else place,
            status_ja=label(carrier, status),
        )
        for status in _route(reached, overseas=region == "overseas")
    )


def _route(reached: str, *, overseas: bool) -> tuple[str, ...]:
    last_mile = ("absent", "held") if reached in ("absent", "held") else ("delivered",)
    customs = ("at_customs",) if overseas else ()
    route = ("accepted", "in_transit", *customs, "at_delivery_office", "out_for_delivery", *last_mile)
    return route[: route.index(reached) + 1]


def _after(status: str, region: str) -> timedelta:
    hours = timedelta(hours=_HOURS[status])
    if status in ("accepted", "in_transit", "at_customs"):
        return hours
    days = _OVERSEAS_DAYS if region == "overseas" else 0
    return hours + timedelta(days=days, hours=_FARTHER_HOURS.get(region, 0))
