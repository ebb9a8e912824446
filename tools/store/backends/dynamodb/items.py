"""Items of the tables in DynamoDB's typed JSON, written by `infra.seed`, tests and `DynamoProfiles`, read by the adapters.

    titles   title_id, record (`tools.store.records.catalog_file`, as JSON text, without offers);
             the item `#popular` has title_ids [..] of the most popular titles, most popular first
    stock    title_id, offers {format: {price_jpy, stock?, list_price_jpy?, campaign? {until, start?, name?}}},
             volumes {format: {number: {price_jpy, stock, isbn?, restock_date?, release_date?}}}
    releases title_id, edition (format#number), month and the fields of `tools.store.models.Release`
    orders   owner, order_id, title_ids [..] and the fields of `tools.store.models.Order`
    profile  owner, moment, kind, subject, at, expires_at (seconds since 1970);
             the item with the moment `#preferences` has revision, stated [{text, at}], expires_at

Numbers are integers, except amounts of a currency with decimals. Types and limits of the fields are those of
`tools.store.models`. Items may have further attributes: reads request the known ones by name and ignore unknown ones inside
maps. Functions that read an item raise ShapeError if it is malformed or has another owner or id than they are given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any

from session.preferences import MOST_KEPT, Preference, StoredPreferences
from session.profile import KEPT_DAYS, Event, EventKind
from tools.store.currency import Currency
from tools.store.models import Availability, Offer, Order, Ordering, OrderLine, Release, Title, VolumeStock
from tools.store.models.offer import offer_of, price_problem
from tools.store.models.order import NOT_BOUGHT
from tools.store.ports import MOST_POPULAR
from tools.store.records.catalog_file import record_of, stored_title
from tools.store.records.store_files import read_order, read_volume
from tools.store.search.ranking.candidates import in_order
from tools.store.shape import ShapeError, decode

Attribute = dict[str, Any]
Item = dict[str, Attribute]


def attribute(value: object) -> Attribute:
    """Converts a Python value to a DynamoDB attribute. Raises TypeError for an unsupported type."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, dict):
        return {"M": make_item(value)}
    if isinstance(value, (list, tuple)):
        return {"L": [attribute(each) for each in value]}
    raise TypeError(f"{type(value).__name__} has no place in an item")


def make_item(values: Mapping[str, object]) -> Item:
    return {name: attribute(value) for name, value in values.items()}


def in_currency(currency: Currency, item: Item) -> Item:
    """Converts an item's internal amounts (`price_jpy`, in smallest units) to those of the table (`price_usd`, in whole
    units with decimals)."""
    if currency.code == "JPY":
        return item
    return _convert_amounts(item, currency.field, lambda amount: Decimal(amount).scaleb(-currency.decimals))


def from_currency(currency: Currency, item: Item) -> Item:
    """Converts an item of the table to internal names and amounts; the inverse of `in_currency`."""
    if currency.code == "JPY":
        return item
    return _convert_amounts(item, currency.internal_field, lambda amount: int(Decimal(amount).scaleb(currency.decimals)))


def _convert_amounts(item: Item, rename: Callable[[str], str], convert: Callable[[str], object]) -> Item:
    """Converts the numbers whose names `rename` changes, at any depth. Keeps what is malformed."""

    def convert_attribute(held: Any, name: str) -> Any:
        kind, value = next(iter(held.items())) if isinstance(held, dict) and len(held) == 1 else ("", None)
        if kind == "N" and rename(name) != name and isinstance(value, str):
            with suppress(ArithmeticError, ValueError):
                return {"N": str(convert(value))}
        if kind == "M" and isinstance(value, dict):
            return {"M": _convert_amounts(value, rename, convert)}
        if kind == "L" and isinstance(value, list):
            return {"L": [convert_attribute(each, "") for each in value]}
        return held

    return {rename(name): convert_attribute(held, name) for name, held in item.items()}


def to_plain(value: object, path: str) -> Any:
    """Converts an attribute to a Python value. Raises ShapeError, which names `path`, for a malformed or unsupported
    attribute."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, held),) = value.items()
        if kind == "S" and isinstance(held, str):
            return held
        if kind == "N" and isinstance(held, str):
            with suppress(ValueError):
                return int(held)
        if kind == "NULL":
            return None
        if kind == "BOOL" and isinstance(held, bool):
            return held
        if kind == "M" and isinstance(held, dict):
            return {name: to_plain(each, f"{path}.{name}") for name, each in held.items()}
        if kind == "L" and isinstance(held, list):
            return [to_plain(each, f"{path}[{i}]") for i, each in enumerate(held)]
    raise ShapeError(f"{path} is no attribute that belongs here")


def read_fields(held: Mapping[str, Any], names: Collection[str], path: str = "$") -> dict[str, Any]:
    """Converts the named attributes of an item or map to Python values; skips absent ones. Raises ShapeError for a malformed
    one."""
    values: dict[str, Any] = {}
    for name, each in held.items():
        if name in names:
            # A fast path for numbers and texts, of which a large item has hundreds.
            alone = type(each) is dict and len(each) == 1
            if alone and type(number := each.get("N")) is str and number.isdecimal():
                values[name] = int(number)
            elif alone and type(held_text := each.get("S")) is str:
                values[name] = held_text
            else:
                values[name] = to_plain(each, f"{path}.{name}")
    return values


def text(item: Any, name: str) -> str:
    """Returns a text attribute of an item. Raises ShapeError unless it is a non-empty string."""
    try:
        held = item[name]["S"]
    except (KeyError, TypeError):
        held = None
    if type(held) is str and held:
        return held
    raise ShapeError(f"$.{name} must be text that is not empty")


def map_members(held: object, path: str) -> dict[str, Any]:
    """Returns the members of a map attribute, not yet converted. Raises ShapeError for another kind of attribute."""
    inside = held.get("M") if isinstance(held, dict) else None
    if not isinstance(inside, dict):
        raise ShapeError(f"{path} must be a map")
    return inside


def fits_as_key(value: str, longest: int = 2048) -> bool:
    """Returns True if DynamoDB accepts the text as a key of at most `longest` bytes: 2048 for a partition key, 1024 for a
    sort key."""
    try:
        return 0 < len(value.encode()) <= longest
    except UnicodeEncodeError:  # a lone surrogate
        return False


def owner_key(owner: str) -> str:
    """Returns the SHA-256 of the owner's id in hex digits; it begins with `session.keys.user_hash` of the owner."""
    return hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()


def projection(names: Sequence[str]) -> dict[str, Any]:
    """Returns the request parameters that select these attributes. Names are aliased, since some, such as `status`, are
    reserved words."""
    aliases = {f"#{i}": name for i, name in enumerate(names)}
    return {"ProjectionExpression": ", ".join(aliases), "ExpressionAttributeNames": aliases}


def _check_owner(item: Mapping[str, Any], owner: str) -> None:
    if text(item, "owner") != owner_key(owner):
        raise ShapeError("$ is another person's")


EVENT_FIELDS = ("owner", *(field.name for field in fields(Event)))


def event_item(owner: str, event: Event) -> Item:
    """Makes an event's item, which expires `KEPT_DAYS` after the event. Its key follows from the event, so that an event
    written twice is stored once."""
    expires = datetime.fromisoformat(event.at) + timedelta(days=KEPT_DAYS)
    subject = hashlib.sha256(event.subject.encode()).hexdigest()[:16]
    return make_item(
        {
            "owner": owner_key(owner),
            "moment": f"{event.at}#{event.kind}#{subject}",
            **{name: str(value) for name, value in asdict(event).items()},
            "expires_at": int(expires.timestamp()),
        }
    )


def event_of(item: Mapping[str, Any], owner: str) -> Event:
    _check_owner(item, owner)
    given = {field.name: text(item, field.name) for field in fields(Event)}
    try:
        return Event(EventKind(given.pop("kind")), **given)
    except ValueError as error:
        raise ShapeError(f"$ is no event: {error}") from error


ORDER_FIELDS = ("owner", *(field.name for field in fields(Order)))
PURCHASE_FIELDS = ("owner", "ordered_at", "status", "title_ids")
LINE_FIELDS = ("owner", "status", "title_ids", "lines")


def order_item(owner: str, order: Order) -> Item:
    """Makes an order's item. Raises ShapeError for an order that `order_of` would refuse."""
    record = asdict(order)
    read_order(record)
    title_ids = list(dict.fromkeys(line.title_id for line in order.lines))
    return make_item({"owner": owner_key(owner), "title_ids": title_ids, **record})


def order_of(item: Mapping[str, Any], owner: str, order_id: str) -> Order:
    _check_owner(item, owner)
    if text(item, "order_id") != order_id:
        raise ShapeError("$ is another order than the one asked for")
    return read_order(read_fields(item, ORDER_FIELDS[1:]), unknown="ignore")


def lines_bought(item: Mapping[str, Any], owner: str, title_id: str) -> list[OrderLine]:
    """Returns an order's lines of one title; empty if the order was cancelled or returned."""
    _check_owner(item, owner)
    if text(item, "status") in NOT_BOUGHT:
        return []
    lines = decode(tuple[OrderLine, ...], to_plain(item.get("lines"), "$.lines"), "$.lines", unknown="ignore")
    return [line for line in lines if line.title_id == title_id]


def purchase_of(item: Mapping[str, Any], owner: str) -> tuple[str, str, list[str]]:
    _check_owner(item, owner)
    return text(item, "status"), text(item, "ordered_at"), title_ids_of(item)


def title_ids_of(item: Mapping[str, Any]) -> list[str]:
    title_ids = to_plain(item.get("title_ids"), "$.title_ids")
    if not isinstance(title_ids, list) or not all(isinstance(each, str) for each in title_ids):
        raise ShapeError("$.title_ids must be a list of text")
    return title_ids


MOMENT = "#preferences"
PREFERENCES_FIELDS = ("owner", "revision", "stated")


def preferences_key(owner: str) -> Item:
    return {"owner": {"S": owner_key(owner)}, "moment": {"S": MOMENT}}


def preferences_item(owner: str, kept: StoredPreferences) -> Item:
    """Makes the item of at least one preference of a customer. The item expires when the last preference does."""
    last = max(each.last_day for each in kept.preferences)
    expires = datetime.combine(last + timedelta(days=1), time(), UTC)
    stated = [{"text": each.text, "at": each.at} for each in kept.preferences]
    record = {"revision": kept.revision, "stated": stated, "expires_at": int(expires.timestamp())}
    return preferences_key(owner) | make_item(record)


def preferences_of(item: Mapping[str, Any], owner: str) -> StoredPreferences:
    _check_owner(item, owner)
    stated = to_plain(item.get("stated"), "$.stated")
    try:
        preferences = tuple(Preference(each["text"], each["at"]) for each in stated[:MOST_KEPT])
    except (ValueError, TypeError, LookupError) as error:
        raise ShapeError("$.stated are no preferences") from error
    return StoredPreferences(preferences, text(item, "revision"))


RELEASE_FIELDS = tuple(field.name for field in fields(Release))


def release_item(release: Release) -> Item:
    """Makes a release's item. Its key has no date, so that a changed date replaces the item."""
    return make_item({"edition": f"{release.format}#{release.volume}", "month": release.month, **asdict(release)})


def release_of(item: Mapping[str, Any]) -> Release:
    return decode(Release, read_fields(item, RELEASE_FIELDS), unknown="ignore")


STOCK_FIELDS = ("title_id", "offers", "volumes")
_OFFER_FIELDS = frozenset(field.name for field in fields(Offer)) - {"format"}
_VOLUME_FIELDS = frozenset(field.name for field in fields(VolumeStock)) - {"format", "volume"}


def stock_item(title_id: str, offers: Iterable[Offer], volumes: Iterable[VolumeStock]) -> Item:
    """Makes the item of a title's prices and copies. Keeps the cheapest offer of each format, and none of a format with
    volumes. Raises ValueError for a duplicate or invalid volume."""
    counted: dict[str, dict[str, Any]] = {}
    for volume in volumes:
        read_volume(asdict(volume))
        of_format = counted.setdefault(volume.format, {})
        if str(volume.volume) in of_format:
            raise ValueError(f"volume {volume.volume} ({volume.format}) of {title_id} is there twice")
        of_format[str(volume.volume)] = _stated_fields(volume, _VOLUME_FIELDS)
    others: dict[str, Any] = {}
    for offer in sorted(offers, key=lambda each: -each.price_jpy):
        if offer.format not in counted:
            others[offer.format] = _stated_fields(offer, _OFFER_FIELDS)
    return make_item({"title_id": title_id, "offers": others, "volumes": counted})


def decode_stock(item: Mapping[str, Any], as_of: str) -> Availability:
    """Decodes a stock item; volumes are sorted by format and number. A title without offers is not sold."""
    title_id = text(item, "title_id")
    volumes: list[VolumeStock] = []
    offers: list[Offer] = []
    for name, numbered in sorted(map_members(item.get("volumes"), "$.volumes").items()):
        of_format = _volumes(name, map_members(numbered, f"$.volumes.{name}"))
        volumes += of_format
        if of_format:
            offers.append(offer_of(name, of_format))
    counted = {offer.format for offer in offers}
    for name, held in sorted(map_members(item.get("offers"), "$.offers").items()):
        if name not in counted:
            offers.append(_offer(name, map_members(held, f"$.offers.{name}")))
    return Availability(title_id, tuple(offers), tuple(volumes), as_of)


def _offer(name: str, held: Mapping[str, Any]) -> Offer:
    path = f"$.offers.{name}"
    offer = decode(Offer, {**read_fields(held, _OFFER_FIELDS, path), "format": name}, path, unknown="ignore")
    _check_price(name, offer.price_jpy, path)
    return offer


def _volumes(name: str, numbered: Mapping[str, Attribute]) -> tuple[VolumeStock, ...]:
    path = f"$.volumes.{name}"
    records = []
    for number, holder in numbered.items():
        if not (number.isascii() and number.isdigit()):
            raise ShapeError(f"{path}.{number} must be a volume's number")
        place = f"{path}.{number}"
        record = {"isbn": None, **read_fields(map_members(holder, place), _VOLUME_FIELDS, place)}
        records.append({**record, "volume": int(number), "format": name})
    records.sort(key=itemgetter("volume"))
    volumes: tuple[VolumeStock, ...] = decode(tuple[VolumeStock, ...], records, path, unknown="ignore")
    if volumes:
        _check_price(name, min([each.price_jpy for each in volumes]), path)
    return volumes


def _check_price(name: str, least: int, path: str) -> None:
    if problem := price_problem(name, least):
        raise ShapeError(f"{path}: price_jpy {problem}")


def _stated_fields(value: Offer | VolumeStock, names: frozenset[str]) -> dict[str, Any]:
    held = asdict(value, dict_factory=lambda pairs: {name: each for name, each in pairs if each is not None})
    return {name: each for name, each in held.items() if name in names}


TITLE_FIELDS = ("title_id", "record")


def title_item(title: Title) -> Item:
    """Makes a title's item. The record is JSON text, since it is only read as a whole and has fractional ratings."""
    record = json.dumps(record_of(title), ensure_ascii=False, separators=(",", ":"))
    return {"title_id": attribute(title.title_id), "record": attribute(record)}


POPULAR_KEY: Item = {"title_id": {"S": "#popular"}}
"""The key of the list of popular titles; no title has it, since ids begin with a letter or digit."""


def popular_item(titles: Iterable[Title]) -> Item:
    best = in_order(list(titles), Ordering.POPULARITY)[:MOST_POPULAR]
    return POPULAR_KEY | make_item({"title_ids": [title.title_id for title in best]})


def title_of(item: Mapping[str, Any], title_id: str) -> Title:
    try:
        title = stored_title(text(item, "record"))
    except ShapeError as error:
        raise ShapeError(f"$.record is none: {error}") from error
    if title.title_id != title_id:
        raise ShapeError("$.record is another title's than the one asked for")
    return title
