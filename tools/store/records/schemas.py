"""JSON Schemas of the lines of record files, and warnings about suspicious values in valid files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from session.resilience.clocks import utc_now
from tools.store.currency import YEN
from tools.store.identifiers import Identifiers
from tools.store.models import Offer, Order, Title, VolumeStock
from tools.store.models.offer import DIGITAL, PAPER, SET, USED_SET
from tools.store.models.order import CARRIERS
from tools.store.models.order import STATUSES as ORDER_STATUSES
from tools.store.records.catalog_file import NESTED
from tools.store.tags import Vocabulary, shipped

FILES = ("catalog", "volumes", "orders")
FORMATS = (PAPER, DIGITAL, SET, USED_SET)
STATUSES = ("Finished", "Publishing", "On Hiatus", "Discontinued")
_Schema = dict[str, Any]


def schema_of(file: str, shop: Identifiers | None = None) -> _Schema:
    """Returns the JSON Schema of a line of `file` (one of `FILES`), with the currency and the id patterns of `shop` (None:
    yen, and any id). Unknown fields are forbidden, as in the loader."""
    currency = shop.currency if shop else YEN
    keyed = {"volumes": partial(_with_key, VolumeStock, "title_id"), "orders": partial(_with_key, Order, "owner")}
    made = (keyed | {"catalog": _catalog})[file]()
    made["properties"]["currency"] = {"anyOf": [{"const": currency.code}, {"type": "null"}]}
    for name, pattern in (("title_id", shop.titles), ("order_id", shop.orders)) if shop else ():
        if name in made["properties"]:
            made["properties"][name] |= {"pattern": pattern.text}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": f"A line of the {file} file", **currency.adapt(_forbid_others(made))}


def _catalog() -> _Schema:
    schema: _Schema = TypeAdapter(Title).json_schema()
    offers: _Schema = TypeAdapter(tuple[Offer, ...]).json_schema()
    properties = schema["properties"]
    for name, names in NESTED.items():
        inside = {key: properties.pop(field) for key, field in names.items()}
        properties[name] = {"type": "object", "properties": inside}
    properties["title"]["anyOf"] = [
        {"required": [key], "properties": {key: {"type": "string"}}} for key in NESTED["title"]
    ]  # at least one name
    definitions = {**schema.get("$defs", {}), **offers.pop("$defs", {})}
    optional = {name: _or_null(rule) for name, rule in properties.items() if name not in ("title_id", "title")}
    properties |= {**optional, "offers": _or_null(offers)}
    return {**schema, "$defs": definitions, "required": ["title_id", "title"], "title": ""}


def _with_key(kind: type[VolumeStock] | type[Order], name: str) -> _Schema:
    schema: _Schema = TypeAdapter(kind).json_schema()
    properties = {name: {"type": "string", "minLength": 1}, **schema["properties"]}
    return {**schema, "properties": properties, "required": [name, *schema["required"]]}


def _or_null(rule: _Schema) -> _Schema:
    plain = {name: value for name, value in rule.items() if name != "default"}
    return plain if {"type": "null"} in plain.get("anyOf", []) else {"anyOf": [plain, {"type": "null"}]}


def _forbid_others(schema: Any) -> Any:
    """Forbids unknown properties in every object, and removes `title` keywords, which only repeat field names."""
    if isinstance(schema, list):
        return [_forbid_others(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {
        name: {key: _forbid_others(each) for key, each in value.items()}
        if name in ("properties", "$defs")
        else _forbid_others(value)
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str))
    }
    return {**closed, "additionalProperties": False} if "type" in closed and closed["type"] == "object" else closed


def count_oddities(oddities: Iterable[str]) -> str:
    """Returns a text with the number of oddities and the first oddity; "" if there are none."""
    odd = list(oddities)
    return f"{len(odd)} oddities, the first: {odd[0]}" if odd else ""


def find_odd_titles(
    records: Sequence[tuple[Title, tuple[Offer, ...]]], vocabulary: Vocabulary | None = None
) -> Iterator[str]:
    """Yields warnings about values that can be loaded but are probably mistakes. A warning names the title, or, for a tag
    that is not in `vocabulary` (default: the shipped one), the tag and its number of titles."""
    titles = {title.title_id for title, _ in records}
    next_year = utc_now().year + 1
    tags = Counter(tag for title, _ in records for tag in title.tags)
    unknown_tags = Counter({tag: tags[tag] for tag in tags if (vocabulary or shipped()).name_of(tag) is None})
    for tag, count in unknown_tags.most_common():
        yield f"tag {tag!r} is in no table, on {count} titles: nothing is known of its audience; MANGA_TAGS_FILE may tell"
    for title, offers in records:
        if title.start_year and title.start_year > next_year:
            yield f"title {title.title_id}: start_year {title.start_year} is in the future"
        if title.status is not None and title.status not in STATUSES:
            yield f"title {title.title_id}: status {title.status!r} is none of {', '.join(STATUSES)}"
        for each in offers:
            yield from _odd_format(f"title {title.title_id}", each.format)
        if unknown := [each for each in title.related if each not in titles]:
            yield f"title {title.title_id}: related {unknown[0]!r} is not in the catalogue"


def find_odd_rows(
    titles: Mapping[str, Title], volumes: Iterable[tuple[str, VolumeStock]], orders: Iterable[tuple[str, Order]]
) -> Iterator[str]:
    """Yields warnings about volumes and orders, as `find_odd_titles` does about titles."""
    for title_id, volume in volumes:
        yield from _odd_format(f"volume {volume.volume} of {title_id}", volume.format)
        known = titles[title_id].volumes if title_id in titles else None
        if known is not None and volume.volume > known and titles[title_id].status == "Finished":
            yield f"volume {volume.volume} of {title_id}: the title has {known} volumes and is finished"
    for _, order in orders:
        if order.status not in ORDER_STATUSES:
            yield f"order {order.order_id}: status {order.status!r} is none of {', '.join(ORDER_STATUSES)}"
        for parcel in order.shipments:
            if parcel.carrier not in CARRIERS:
                yield f"order {order.order_id}: carrier {parcel.carrier!r} is none of {', '.join(CARRIERS)}"


def _odd_format(of: str, name: str) -> Iterator[str]:
    if name not in FORMATS:
        yield f"{of}: format {name!r} is none of {', '.join(FORMATS)}"
