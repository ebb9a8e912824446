"""What an item looks like: written by the seed and by tests, read by the adapters.

    titles   title_id, record (the import format of the catalogue, as JSON text, without offers)
    stock    title_id, offers {format: {price_jpy, stock?}},
             volumes {format: {number: {price_jpy, stock, isbn?, restock_date?, release_date?}}}
    orders   owner, order_id, title_ids [..] and the fields of `tools.store.models.Order`
    profile  owner, moment, kind, subject, at, expires_at (seconds since 1970)

Volumes are a map, so that the copies of one can be changed alone and by many writers at once:
`SET volumes.#format.#number.stock = volumes.#format.#number.stock - :sold`, with a condition that enough are there. What a
format counted by volumes costs and how many there are follows from them; `offers` holds the other formats only. Whoever
writes may keep attributes of their own: reads ask for theirs by name, and unknown ones deeper down are passed over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, cast, get_args, get_type_hints

from session.profile import KEPT_DAYS, Event, EventKind
from tools.store.backends.decode import ShapeError, decode
from tools.store.backends.dynamodb.attributes import Attribute, Item, attribute, members, plain, text, whole
from tools.store.backends.embedded.records import kept_title, record_of
from tools.store.backends.store_rules import check_order, check_volume, least_price, offer_of
from tools.store.models import Availability, Offer, Order, Title, VolumeStock

TITLE_FIELDS = ("title_id", "record")
STOCK_FIELDS = ("title_id", "offers", "volumes")
ORDER_FIELDS = ("owner", *(field.name for field in fields(Order)))
PURCHASE_FIELDS = ("owner", "ordered_at", "status", "title_ids")
EVENT_FIELDS = ("owner", "kind", "subject", "at")


def owner_key(owner: str) -> str:
    """Stands for a person in keys. Any text has one, and no two share it; the start of it is `session.keys.user_hash`."""
    return hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()


def title_item(title: Title) -> Item:
    """What a title is. As text: a record is only ever read whole, and its ratings are no whole numbers."""
    record = json.dumps(record_of(title), ensure_ascii=False, separators=(",", ":"))
    return {"title_id": attribute(title.title_id), "record": attribute(record)}


def title_of(item: Mapping[str, Any], title_id: str) -> Title:
    """The title an item holds. Raises ShapeError, also for one that is not the one asked for."""
    try:
        title = kept_title(text(item, "record", "$"))
    except ValueError as error:
        raise ShapeError(f"$.record is none: {error}") from error
    if title.title_id != title_id:
        raise ShapeError("$.record is another title's than the one asked for")
    return title


def stock_item(title_id: str, offers: Iterable[Offer], volumes: Iterable[VolumeStock]) -> Item:
    """A title's prices and copies. Of two offers in one format the cheaper is kept. Raises ValueError for a volume that
    is there twice or breaks `store_rules`."""
    counted: dict[str, dict[str, Any]] = {}
    for volume in volumes:
        check_volume(volume)
        of_format = counted.setdefault(volume.format, {})
        if str(volume.volume) in of_format:
            raise ValueError(f"volume {volume.volume} ({volume.format}) of {title_id} is there twice")
        of_format[str(volume.volume)] = _without_nulls(volume, "volume", "format")
    others: dict[str, Any] = {}
    for offer in sorted(offers, key=lambda each: -each.price_jpy):
        if offer.format not in counted:
            others[offer.format] = _without_nulls(offer, "format")
    return {"title_id": attribute(title_id), "offers": attribute(others), "volumes": attribute(counted)}


def stock_row(item: Mapping[str, Any], as_of: str) -> Availability:
    """What a stock item says, formats and volumes in order; no offers where the title is not sold. Raises ShapeError."""
    title_id = text(item, "title_id", "$")
    volumes: list[VolumeStock] = []
    offers: list[Offer] = []
    for name, numbered in sorted(members(item.get("volumes"), "$.volumes").items()):
        of_format = _volumes(name, members(numbered, f"$.volumes.{name}"))
        volumes += of_format
        if of_format:
            offers.append(offer_of(name, of_format))
    counted = {offer.format for offer in offers}
    for name, held in sorted(members(item.get("offers"), "$.offers").items()):
        if name not in counted:
            offers.append(_offer(name, members(held, f"$.offers.{name}")))
    return Availability(title_id, tuple(offers), tuple(volumes), as_of)


def order_item(owner: str, order: Order) -> Item:
    """An owner's order. Raises ValueError for one that breaks `store_rules`."""
    check_order(order)
    title_ids = list(dict.fromkeys(line.title_id for line in order.lines))
    record = {"owner": owner_key(owner), "title_ids": title_ids, **asdict(order)}
    return {name: attribute(value) for name, value in record.items()}


def order_of(item: Mapping[str, Any], owner: str, order_id: str) -> Order:
    """The order an item holds. Raises ShapeError, also for one that is not the one asked for."""
    record = {name: plain(value, f"$.{name}") for name, value in item.items() if name in ORDER_FIELDS}
    if record.pop("owner", None) != owner_key(owner) or record.get("order_id") != order_id:
        raise ShapeError("$ is another order than the one asked for")
    order = decode(Order, _known(Order, record))
    check_order(order)
    return order


def purchase_of(item: Mapping[str, Any], owner: str) -> tuple[str, str, list[str]]:
    """Status, time and titles of an order. Raises ShapeError, also for somebody else's."""
    if text(item, "owner", "$") != owner_key(owner):
        raise ShapeError("$ is somebody else's order")
    title_ids = plain(item.get("title_ids"), "$.title_ids")
    if not isinstance(title_ids, list) or not all(isinstance(each, str) for each in title_ids):
        raise ShapeError("$.title_ids must be a list of text")
    return text(item, "status", "$"), text(item, "ordered_at", "$"), title_ids


def event_item(owner: str, event: Event) -> Item:
    """Something a person did. The same event has the same key, however often it is told."""
    expires = datetime.fromisoformat(event.at) + timedelta(days=KEPT_DAYS)
    told = hashlib.sha256(event.subject.encode()).hexdigest()[:16]
    record = {
        "owner": owner_key(owner),
        "moment": f"{event.at}#{event.kind}#{told}",
        "kind": str(event.kind),
        "subject": event.subject,
        "at": event.at,
        "expires_at": int(expires.timestamp()),
    }
    return {name: attribute(value) for name, value in record.items()}


def event_of(item: Mapping[str, Any], owner: str) -> Event:
    """The event an item holds. Raises ShapeError, also for somebody else's."""
    if text(item, "owner", "$") != owner_key(owner):
        raise ShapeError("$ is somebody else's event")
    try:
        return Event(EventKind(text(item, "kind", "$")), text(item, "subject", "$"), text(item, "at", "$"))
    except ValueError as error:
        raise ShapeError(f"$ is no event: {error}") from error


def _offer(name: str, held: Mapping[str, Any]) -> Offer:
    path = f"$.offers.{name}"
    stock = whole(held, "stock", path, 0) if "stock" in held else None
    return Offer(name, whole(held, "price_jpy", path, least_price(name)), stock)


def _volumes(name: str, numbered: Mapping[str, Attribute]) -> list[VolumeStock]:
    volumes = []
    for number, holder in numbered.items():
        path = f"$.volumes.{name}.{number}"
        held = members(holder, path)
        if not (number.isascii() and number.isdigit()):
            raise ShapeError(f"{path} must be a volume's number")
        volumes.append(
            VolumeStock(
                int(number),
                text(held, "isbn", path) if "isbn" in held else None,
                name,
                whole(held, "price_jpy", path, least_price(name)),
                whole(held, "stock", path, 0),
                _date(held, "restock_date", path) if "restock_date" in held else None,
                _date(held, "release_date", path) if "release_date" in held else None,
            )
        )
    volumes.sort(key=lambda volume: volume.volume)
    return volumes


def _date(held: Mapping[str, Any], name: str, path: str) -> str:
    """Dates are compared as text further up, so only the one spelling is let in."""
    value = text(held, name, path)
    try:
        if date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise ShapeError(f"{path}.{name} must be a date, YYYY-MM-DD")


def _without_nulls(value: Offer | VolumeStock, *left_out: str) -> dict[str, Any]:
    return {name: each for name, each in asdict(value).items() if each is not None and name not in left_out}


def _known(kind: type[Any], value: object) -> object:
    """`value` without fields that `kind` does not have: a writer may know more than this version does."""
    if not isinstance(value, dict):
        return value
    nested = _fields(cast(Hashable, kind))
    return {name: _known_in(nested[name], each) for name, each in value.items() if name in nested}


def _known_in(kind: type[Any] | None, value: object) -> object:
    if kind is None:
        return value
    return [_known(kind, each) for each in value] if isinstance(value, list) else _known(kind, value)


@lru_cache(maxsize=16)
def _fields(kind: Any) -> dict[str, type[Any] | None]:
    """Names of the fields, with the dataclass that is inside where there is one."""
    inner = {name: (hint, *get_args(hint)) for name, hint in get_type_hints(kind).items()}
    return {name: next((k for k in kinds if is_dataclass(k) and isinstance(k, type)), None) for name, kinds in inner.items()}


def projection(names: Sequence[str]) -> dict[str, Any]:
    """The parameters that ask for these attributes alone; aliased, since `status` and others are reserved words."""
    aliases = {f"#{i}": name for i, name in enumerate(names)}
    return {"ProjectionExpression": ", ".join(aliases), "ExpressionAttributeNames": aliases}
