"""Generates orders from plans: lines at the store's prices, parcels with tracking events, dates and sums."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from infra.demo.carriers import events, label
from infra.demo.catalogue import StockedTitle
from infra.demo.clock import japan_day, japan_time, utc
from infra.demo.order_plan import ANY_WAITING, NEXT, PREFECTURES, Item, OrderPlan, Parcel
from infra.demo.shelf import REFERENCE_DATE
from infra.demo.shipping import region_of, shipping_fee
from infra.demo.tracking import tracking_number
from tools.store.models import Order, OrderLine, Shipment, VolumeStock

STATUS_LABELS = {
    "received": "新規受付",
    "payment_pending": "決済処理中",
    "paid": "入金済み",
    "in_preparation": "対応中",
    "shipped": "発送済み",
    "cancelled": "注文取消し",
    "returned": "返品",
}
"""Order statuses, with the words that Japanese shop software shows for them."""

_RETURN_DAYS = 8
"""Days in which a buyer may return goods: the demo shop's own rule, which replaces the statutory eight days."""
_DAYS_FROM_ARRIVAL = 2
"""Days from the arrival of a missing volume at the shop to its delivery."""


class OrderDesk:
    def __init__(self, titles: Sequence[StockedTitle]) -> None:
        self._by_rank = sorted(titles, key=lambda title: title.rank)
        # reversed, so that of two works with the same name the more popular one is kept
        self._titles = {str(title.record["title"]["romaji"]): title for title in reversed(self._by_rank)}

    def order(self, plan: OrderPlan) -> Order:
        """Returns the order of `plan`. Raises ValueError if an item is not sold, RuntimeError if none fits `ANY_WAITING`."""
        prefecture = PREFECTURES[plan.owner]
        shipments = tuple(_shipment(plan, index, region_of(prefecture)) for index in range(len(plan.parcels)))
        lines = self._lines(plan, shipments)
        subtotal = sum(line.quantity * line.unit_price_jpy for line in lines)
        goods = sum(line.quantity * line.unit_price_jpy for line in lines if line.format != "digital")
        fee = shipping_fee(prefecture, goods, any(parcel.service == "yu_packet" for parcel in plan.parcels))
        return Order(
            order_id=plan.order_id,
            status=plan.status,
            ordered_at=utc(japan_time(plan.ordered)),
            lines=lines,
            subtotal_jpy=subtotal,
            shipping_jpy=fee,
            total_jpy=subtotal + fee,
            prefecture=prefecture,
            shipments=shipments,
            estimated_delivery=plan.estimated or _estimate(lines),
            note=plan.note,
            return_until=_return_until(plan, shipments),
            status_ja=STATUS_LABELS[plan.status],
        )

    def _lines(self, plan: OrderPlan, shipments: Sequence[Shipment]) -> tuple[OrderLine, ...]:
        carried = {
            position: shipment.tracking_number
            for parcel, shipment in zip(plan.parcels, shipments, strict=True)
            for position in parcel.items
        }
        return tuple(self._line(item, carried.get(position)) for position, item in enumerate(plan.items))

    def _line(self, item: Item, tracking: str | None) -> OrderLine:
        title, volume = self._find(item)
        supply, expected = _supply(item, volume, shipped=tracking is not None)
        return OrderLine(
            title_id=title.title_id,
            title=title.display,
            volume=volume.volume if volume else None,
            isbn=volume.isbn if volume and item.format == "physical" else None,
            format=item.format,
            quantity=item.quantity,
            unit_price_jpy=_price(title, item, volume),
            supply=supply,
            expected_date=expected,
            tracking_number=tracking,
        )

    def _find(self, item: Item) -> tuple[StockedTitle, VolumeStock | None]:
        if item.title == ANY_WAITING:
            return next((t, v) for t in self._by_rank for v in t.volumes if v.restock_date)
        if item.title not in self._titles:
            raise ValueError(f"a sample order needs {item.title!r}, which is not among the titles")
        title = self._titles[item.title]
        if item.format == "set":
            return title, None
        for volume in title.volumes:
            if _coming(volume) if item.volume == NEXT else volume.volume == item.volume:
                return title, volume
        raise ValueError(f"a sample order needs volume {item.volume} of {item.title!r}, which the store does not have")


def _price(title: StockedTitle, item: Item, volume: VolumeStock | None) -> int:
    if volume and item.format == "physical":
        return volume.price_jpy
    for offer in title.offers:
        if offer.format == item.format:
            return offer.price_jpy
    raise ValueError(f"a sample order needs {item.title!r} as {item.format}, which the store does not offer")


def _supply(item: Item, volume: VolumeStock | None, *, shipped: bool) -> tuple[str, str | None]:
    """Returns how a line is supplied (download, stock, preorder, backorder), and the date on which a missing volume is
    expected, None if none is missing."""
    if item.format == "digital":
        return "download", None
    if volume is None or shipped:
        return "stock", None
    if _coming(volume):
        return "preorder", volume.release_date
    return ("backorder", volume.restock_date) if volume.restock_date else ("stock", None)


def _coming(volume: VolumeStock) -> bool:
    return volume.release_date is not None and volume.release_date > REFERENCE_DATE.isoformat()


def _estimate(lines: Sequence[OrderLine]) -> str | None:
    """Returns the day of delivery, set by the line that comes in last, since all leave together; None if no line is awaited.
    A new release is delivered on its release day."""
    days = [date.fromisoformat(line.expected_date) + _delay(line) for line in lines if line.expected_date]
    return max(days).isoformat() if days else None


def _delay(line: OrderLine) -> timedelta:
    return timedelta(days=0 if line.supply == "preorder" else _DAYS_FROM_ARRIVAL)


def _shipment(plan: OrderPlan, index: int, region: str) -> Shipment:
    parcel: Parcel = plan.parcels[index]
    shipped = japan_time(parcel.shipped)
    scans = events(parcel.carrier, shipped, parcel.reached, region, PREFECTURES[plan.owner])
    return Shipment(
        carrier=parcel.carrier,
        service=parcel.service,
        tracking_number=tracking_number(parcel.service, plan.order_id, index),
        status=parcel.reached,
        shipped_at=utc(shipped),
        delivered_at=scans[-1].at if parcel.reached == "delivered" else None,
        events=scans,
        status_ja=label(parcel.carrier, parcel.reached),
    )


def _return_until(plan: OrderPlan, shipments: Sequence[Shipment]) -> str | None:
    """Returns the last day for a return, eight days after the last parcel arrived; None unless all parcels have arrived."""
    delivered = [shipment.delivered_at for shipment in shipments]
    if plan.status != "shipped" or not delivered or None in delivered:
        return None
    last = max(moment for moment in delivered if moment)
    return (japan_day(datetime.fromisoformat(last)) + timedelta(days=_RETURN_DAYS)).isoformat()
