"""A title, a volume, an offer, an order and an event of a profile each have one definition, which every form of them keeps:
lines of files, items of tables, what lies in Redis, and what a tool answers.

Whatever the models admit goes through all of them and comes out as it was. And no form may forget a field: the tests below
the first go by the fields of the models alone, and name the one that is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from session.profile import Event
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.nouns import AVAILABILITIES, EVENTS, OFFERS, TITLES, VOLUMES, orders
from tools import check_inventory, compare_prices, get_manga_details, search_manga_catalog
from tools import check_inventory as inventory
from tools.results import orders as order_results
from tools.results import rows as details
from tools.results.rows import CAMPAIGN, OFFER, title_row
from tools.schema.parts import TITLE_ROW
from tools.schema.validation import compile_success_check
from tools.store.backends.dynamodb.items import (
    EVENT_FIELDS,
    decode_stock,
    event_item,
    event_of,
    order_item,
    order_of,
    stock_item,
    title_item,
    title_of,
)
from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
from tools.store.models import (
    Author,
    Availability,
    Campaign,
    Offer,
    Order,
    OrderLine,
    Shipment,
    Title,
    TrackingEvent,
    VolumeStock,
)
from tools.store.records.catalog_file import NESTED, RECORD_FIELDS, parse, record_of, stored_title
from tools.store.records.store_files import read_orders, read_volumes
from tools.store.tags import shipped

UNTIMED = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
"""Files, validators and machines that are busy take their time."""
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def fits(schema: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """To both that judge results: the validator and the quick check, as JSON, which is what they are on the wire."""
    sent = json.loads(json.dumps(result))
    Draft202012Validator(schema).validate(sent)
    assert compile_success_check(schema)(sent)


T = TypeVar("T")


def cached(kind: Any, value: T) -> T:
    shape: TypeAdapter[T] = TypeAdapter(kind)
    return shape.validate_json(shape.dump_json(value), strict=True)


@UNTIMED
@given(TITLES, OFFERS)
def test_title_survives_every_storage_format_and_fits_the_output_schemas(title: Title, offers: tuple[Offer, ...]) -> None:
    line = json.dumps(record_of(title, offers), ensure_ascii=False).encode()
    assert parse(line) == ((replace(title, tags=shipped().spell_tags(title.tags, {})), offers),)
    assert stored_title(line) == title
    assert title_of(title_item(title), title.title_id) == title
    assert cached(Title, title) == title
    fits(search_manga_catalog.OUTPUT, search_manga_catalog.results((title,), 1))
    fits(get_manga_details.OUTPUT, details.title_facts(title))


@UNTIMED
@given(OFFERS, VOLUMES)
def test_offers_and_a_volume_survive_every_storage_format(offers: tuple[Offer, ...], volume: VolumeStock) -> None:
    row = decode_stock(stock_item("m-1", offers, [volume]), "2026-11-01T00:00:00Z")
    assert row.volumes == (volume,)
    assert set(row.offers) >= {offer for offer in offers if offer.format != volume.format}
    assert cached(Availability, row) == row
    with TemporaryDirectory() as folder:
        path = Path(folder) / "volumes.jsonl"
        path.write_text(json.dumps({"title_id": "m-1", **asdict(volume)}), "utf-8")
        assert read_volumes(path) == [("m-1", volume)]


@UNTIMED
@given(AVAILABILITIES)
def test_any_stock_fits_the_output_schemas_of_the_tools(row: Availability) -> None:
    assert cached(Availability, row) == row
    answer = {"items": [inventory.item(row, {})], "not_found": [], "unanswered": []}
    fits(check_inventory.OUTPUT, answer)
    stock = details.stock_facts({row.title_id: row}, row.title_id)
    fits(get_manga_details.OUTPUT, {"title_id": row.title_id, "title": "x", "offers": details.list_offers(row), **stock})
    for known in ({}, {row.title_id: Title(row.title_id, en="x", volumes=3, status="Finished")}):
        compared = compare_prices.price_titles([row, row], known, {})
        fits(compare_prices.OUTPUT, {**compared, "not_found": [], "unanswered": []})


@UNTIMED
@given(orders())
async def test_order_survives_every_storage_format_and_fits_the_output_schema(order: Order) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "orders.jsonl"
        path.write_text(json.dumps({"owner": "reader", **asdict(order)}), "utf-8")
        assert read_orders(path) == [("reader", order)]
        async with EmbeddedStore.open([], None, path) as store:
            assert await store.order("reader", order.order_id, Deadline.after(5)) == order
    assert order_of(order_item("reader", order), "reader", order.order_id) == order
    assert cached(Order, order) == order
    fits(order_results.OUTPUT, order_results.present_order(order, NOW))
    fits(order_results.OUTPUT, order_results.present_latest([order], NOW))


@UNTIMED
@given(EVENTS)
def test_event_survives_every_storage_format(event: Event) -> None:
    assert event_of(event_item("reader", event), "reader") == event
    assert cached(Event, event) == event


async def test_embedded_store_keeps_all_fields_of_volumes_and_offers(tmp_path: Path) -> None:
    volume = VolumeStock(3, "9784000000116", "physical", 528, 3, "2026-12-01", "2026-12-02")
    assert None not in asdict(volume).values()
    path = tmp_path / "volumes.jsonl"
    path.write_text(json.dumps({"title_id": "m-1", **asdict(volume)}), "utf-8")
    campaign = Campaign("12-15", "11-15", "Fair")
    offers = (Offer("set", 9_000, 2), Offer("digital", 300, None, 480, campaign))
    assert None not in asdict(campaign).values()
    async with EmbeddedStore.open([("m-1", offers)], path, None) as store:
        row = (await store.availability(["m-1"], Deadline.after(5))).rows["m-1"]
    assert (row.volumes, row.offers[1:]) == ((volume,), offers)


ROW = Availability("m-1", (), (), "x")
HIDDEN = {
    Title: {"rating_counts"},  # told by the tool for ratings alone
    Author: {"name_kana"},  # spelled for a search, of no use to a reader
    Campaign: {"start"},  # those that are shown have begun
    VolumeStock: {"isbn", "format", "price_jpy", "stock"},  # told of all volumes together
}
"""Fields that the tools keep to themselves, each for a reason."""
LINE, SHIPMENT = (order_results.OUTPUT["properties"][name]["items"] for name in ("lines", "shipments"))
ANSWERED = {
    Title: (
        get_manga_details.OUTPUT,
        dict.fromkeys(NESTED["title"].values(), "titles") | dict.fromkeys(NESTED["synopsis"].values(), "synopsis"),
    ),
    Author: (get_manga_details.OUTPUT["properties"]["authors"]["items"], {}),
    Offer: (OFFER, {}),
    Campaign: (CAMPAIGN, {}),
    VolumeStock: (
        check_inventory.OUTPUT["properties"]["items"]["items"],
        {"volume": "missing_volumes", "restock_date": "restock", "release_date": "upcoming"},
    ),
    Order: (order_results.OUTPUT, {name: f"shop_{name}" for name in ("status", "status_ja", "note")}),
    OrderLine: (LINE, {}),
    Shipment: (SHIPMENT, {}),
    TrackingEvent: (SHIPMENT["properties"]["events"]["items"], {}),
}
"""Where the fields of a noun are answered, and under which other names."""


@cases(
    ("noun", "field"),
    [(noun, field.name) for noun in ANSWERED for field in fields(noun)],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_every_model_field_is_in_an_output_schema(noun: type, field: str) -> None:
    schema, names = ANSWERED[noun]
    if field in HIDDEN.get(noun, ()):
        return
    assert names.get(field, field) in schema["properties"], f"{noun.__name__}.{field} is answered nowhere"


EDITION = {
    "publisher": "Pier Books",
    "edition_language": "en-GB",
    "cover_url": "https://img.shop.example/1.jpg",
    "product_url": "https://shop.example/1",
}


def test_edition_fields_are_answered_only_where_recorded() -> None:
    full, bare = Title("m-1", en="x", **EDITION), Title("m-1", en="x")
    assert details.title_facts(full).items() >= EDITION.items()
    assert title_row(full).items() >= {name: EDITION[name] for name in ("cover_url", "product_url")}.items()
    assert not EDITION.keys() & (details.title_facts(bare).keys() | title_row(bare).keys())


def test_answered_fields_of_a_title_are_exactly_those_of_the_schema() -> None:
    """Clients may drop what a schema does not name."""
    title = Title("m-1", en="x", tags=("Gore",), **EDITION)
    joined = {"related", "offers", *details.stock_facts({}, "m-1"), "note", "truncated", "error"}
    assert details.title_facts(title).keys() | joined == get_manga_details.OUTPUT["properties"].keys()
    assert title_row(title).keys() == TITLE_ROW["properties"].keys()
    assert inventory.item(ROW, {}).keys() == check_inventory.OUTPUT["properties"]["items"]["items"]["properties"].keys()


@cases("field", [field.name for field in fields(Title)])
def test_every_title_field_is_in_the_record_format(field: str) -> None:
    """It is a field of the record itself, or inside its names or its synopsis."""
    inside = {of for names in NESTED.values() for of in names.values()}
    assert field in inside or field in RECORD_FIELDS


def test_event_item_has_the_fields_of_the_event() -> None:
    assert set(EVENT_FIELDS) == {"owner", *(field.name for field in fields(Event))}


def test_stock_sums_are_capped_at_the_limit_of_the_database() -> None:
    """Each volume is within the limit of a number, and so is the sum that is shown."""
    volume = VolumeStock(1, None, "physical", 500, 10**9)
    row = decode_stock(stock_item("m-1", [], [volume, replace(volume, volume=2)]), "2026-11-01T00:00:00Z")
    assert row.offers == (Offer("physical", 500, 10**9),)
    assert cached(Availability, row) == row
