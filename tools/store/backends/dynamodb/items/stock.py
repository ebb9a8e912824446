"""A title's prices and copies.

Volumes are a map, so that the copies of one can be changed alone and by many writers at once:
`SET volumes.#format.#number.stock = volumes.#format.#number.stock - :sold`, with a condition that enough are there. What a
format counted by volumes costs and how many there are follows from them; `offers` holds the other formats only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from operator import itemgetter
from typing import Any

from tools.store.backends.dynamodb.attributes import Attribute, Item, attribute, known, members, text
from tools.store.models import Availability, Offer, VolumeStock
from tools.store.models.offer import price_problem
from tools.store.models.volume import offer_of
from tools.store.records.shape import ShapeError, decode
from tools.store.records.volume import check_volume

STOCK_FIELDS = ("title_id", "offers", "volumes")
_OF_AN_OFFER = frozenset(field.name for field in fields(Offer)) - {"format"}
_OF_A_VOLUME = frozenset(field.name for field in fields(VolumeStock)) - {"format", "volume"}


def stock_item(title_id: str, offers: Iterable[Offer], volumes: Iterable[VolumeStock]) -> Item:
    """A title's prices and copies. Of two offers in one format the cheaper is kept. Raises ValueError for a volume that
    is there twice or could not be read again."""
    counted: dict[str, dict[str, Any]] = {}
    for volume in volumes:
        check_volume(volume)
        of_format = counted.setdefault(volume.format, {})
        if str(volume.volume) in of_format:
            raise ValueError(f"volume {volume.volume} ({volume.format}) of {title_id} is there twice")
        of_format[str(volume.volume)] = _given(volume, _OF_A_VOLUME)
    others: dict[str, Any] = {}
    for offer in sorted(offers, key=lambda each: -each.price_jpy):
        if offer.format not in counted:
            others[offer.format] = _given(offer, _OF_AN_OFFER)
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


def _offer(name: str, held: Mapping[str, Any]) -> Offer:
    path = f"$.offers.{name}"
    offer = decode(Offer, {**known(held, _OF_AN_OFFER, path), "format": name}, path, unknown="ignore")
    _check_price(name, offer.price_jpy, path)
    return offer


def _volumes(name: str, numbered: Mapping[str, Attribute]) -> tuple[VolumeStock, ...]:
    path = f"$.volumes.{name}"
    records = []
    for number, holder in numbered.items():
        if not (number.isascii() and number.isdigit()):
            raise ShapeError(f"{path}.{number} must be a volume's number")
        place = f"{path}.{number}"
        record = known(members(holder, place), _OF_A_VOLUME, place)
        record["volume"], record["format"] = int(number), name
        record.setdefault("isbn", None)
        records.append(record)
    records.sort(key=itemgetter("volume"))
    volumes: tuple[VolumeStock, ...] = decode(tuple[VolumeStock, ...], records, path, unknown="ignore")
    if volumes:
        _check_price(name, min([each.price_jpy for each in volumes]), path)
    return volumes


def _check_price(name: str, least: int, path: str) -> None:
    if problem := price_problem(name, least):
        raise ShapeError(f"{path}: price_jpy {problem}")


def _given(value: Offer | VolumeStock, names: frozenset[str]) -> dict[str, Any]:
    return {name: each for name, each in _stated(asdict(value)).items() if name in names}


def _stated(held: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None, in what is inside as well."""
    return {name: _stated(each) if isinstance(each, dict) else each for name, each in held.items() if each is not None}
