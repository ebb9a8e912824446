"""The committed demo data, judged by rules written down a second time here, not by the code that made it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from infra.demo.generate import FOLDER, build
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
from tools.store.models import Campaign
from tools.store.records.catalog_file import load, read_record

Record = dict[str, Any]

REFERENCE = date(2026, 11, 20)
GENRES = {"shonen", "seinen", "shojo", "josei", "kodomo"}
RECORD_TYPES = {
    "title_id": str,
    "title": dict,
    "alt_titles": list,
    "authors": list,
    "genre": str,
    "tags": list,
    "synopsis": dict,
    "rating": float,
    "rating_count": int,
    "rating_counts": list,
    "popularity_rank": int,
    "volumes": int,
    "chapters": int,
    "status": str,
    "start_year": int,
    "end_year": int,
    "magazine": str,
    "offers": list,
    "related": list,
}


def read(name: str) -> list[Record]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def catalog() -> dict[str, Record]:
    return {record["title_id"]: record for record in read("catalog.jsonl")}


@pytest.fixture(scope="module")
def shelves() -> dict[str, list[Record]]:
    shelves: dict[str, list[Record]] = defaultdict(list)
    for volume in read("volumes.jsonl"):
        shelves[volume["title_id"]].append(volume)
    return shelves


@pytest.fixture(scope="module")
def orders() -> list[Record]:
    return read("orders.jsonl")


@pytest.fixture(scope="module")
def offers(catalog: dict[str, Record]) -> dict[tuple[str, str], Record]:
    return {(title_id, offer["format"]): offer for title_id, record in catalog.items() for offer in record["offers"]}


def test_generating_again_gives_the_committed_bytes() -> None:
    for name, text in build(FOLDER / "titles.jsonl").items():
        assert text.encode() == (FOLDER / name).read_bytes(), f"{name}: run python -m infra.demo.generate"


async def test_the_demo_files_load_into_the_embedded_store(catalog: dict[str, Record], orders: list[Record]) -> None:
    soon = Deadline.after(5)
    offered = [(title.title_id, offers) for title, offers in load(FOLDER / "catalog.jsonl")]
    async with EmbeddedStore.open(offered, FOLDER / "volumes.jsonl", FOLDER / "orders.jsonl") as store:
        page = await store.availability([*catalog], soon)
        for title_id, record in catalog.items():
            assert page.rows[title_id].offers == read_record(record)[1]
        for order in orders:
            found = await store.order(order["owner"], order["order_id"], soon)
            assert found is not None
            assert json.loads(json.dumps({"owner": order["owner"], **asdict(found)})) == order


def test_the_order_of_the_titles_file_does_not_matter(tmp_path: Path) -> None:
    lines = (FOLDER / "titles.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "titles.jsonl").write_text("".join(reversed(lines)), encoding="utf-8")
    assert build(tmp_path / "titles.jsonl") == build(FOLDER / "titles.jsonl")


def test_a_title_that_comes_twice_is_refused(tmp_path: Path) -> None:
    first = (FOLDER / "titles.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[0]
    for again in (first, first.replace(json.loads(first)["title_id"], "manga-999999", 1)):
        (tmp_path / "titles.jsonl").write_text(first + again, encoding="utf-8")
        with pytest.raises(ValueError, match="are the same"):
            build(tmp_path / "titles.jsonl")


def test_missing_title_that_a_sample_order_needs_is_named(tmp_path: Path) -> None:
    lines = (FOLDER / "titles.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["title"]["romaji"] != "One Piece"]
    (tmp_path / "titles.jsonl").write_text("".join(kept), encoding="utf-8")
    with pytest.raises(ValueError, match="a sample order needs 'One Piece'"):
        build(tmp_path / "titles.jsonl")


def test_the_catalogue_is_large_enough_and_sorted(catalog: dict[str, Record]) -> None:
    ids = [record["title_id"] for record in read("catalog.jsonl")]
    assert ids == sorted(set(ids))
    assert len(catalog) >= 200


def test_stars_add_up_and_their_mean_is_the_rating_of_most_titles(catalog: dict[str, Record]) -> None:
    counted = [record for record in catalog.values() if record["rating_counts"]]
    assert 0.8 * len(catalog) < len(counted) < len(catalog), "some have none, as in any shop"
    for record in counted:
        stars, count = record["rating_counts"], record["rating_count"]
        assert (len(stars), sum(stars)) == (5, count)
        mean = sum(number * each for number, each in enumerate(stars, 1)) / count
        assert abs(mean - record["rating"]) < 0.01, record["title_id"]
        assert min(stars) > 0


def test_every_record_has_the_import_format(catalog: dict[str, Record]) -> None:
    nullable = {"chapters", "end_year", "rating_counts"}
    for title_id, record in catalog.items():
        assert list(record) == list(RECORD_TYPES), title_id
        for name, value in record.items():
            assert type(value) is RECORD_TYPES[name] or (value is None and name in nullable), (title_id, name)
        assert set(record["title"]) == {"en", "romaji", "ja", "kana"}
        assert set(record["synopsis"]) == {"en", "ja"}
        assert all(set(author) == {"name", "name_ja", "name_kana", "role"} for author in record["authors"])
        for offer in record["offers"]:
            assert set(offer) - {"list_price_jpy", "campaign"} == {"format", "price_jpy", "stock"}
            assert ("list_price_jpy" in offer) == ("campaign" in offer)
        assert record["genre"] in GENRES
        assert 0 <= record["rating"] <= 5


def test_related_titles_are_in_the_catalogue(catalog: dict[str, Record]) -> None:
    assert {other for record in catalog.values() for other in record["related"]} <= set(catalog)


def test_popularity_ranks_follow_the_number_of_ratings(catalog: dict[str, Record]) -> None:
    ranked = sorted(catalog.values(), key=lambda record: record["popularity_rank"])
    assert [record["popularity_rank"] for record in ranked] == list(range(1, len(ranked) + 1))
    counts = [record["rating_count"] for record in ranked]
    assert counts == sorted(counts, reverse=True)


def test_every_paper_volume_has_a_valid_isbn_of_its_own(shelves: dict[str, list[Record]]) -> None:
    isbns = [volume["isbn"] for shelf in shelves.values() for volume in shelf]
    assert len(isbns) == len(set(isbns))
    for isbn in isbns:
        assert re.fullmatch(r"9784[0-9]{9}", isbn)
        assert (sum(map(int, isbn[0::2])) + 3 * sum(map(int, isbn[1::2]))) % 10 == 0


def test_a_publisher_is_known_by_its_isbn_prefix(catalog: dict[str, Record], shelves: dict[str, list[Record]]) -> None:
    prefixes = {
        "Weekly Shonen Jump": "978408",
        "Weekly Shonen Magazine": "978406",
        "Weekly Shonen Sunday": "978409",
        "Hana to Yume": "9784592",
        "Big Comic Spirits": "978409",
        "Young Animal": "9784592",
    }
    for title_id, record in catalog.items():
        prefix = prefixes.get(record["magazine"], "9784")
        assert all(volume["isbn"].startswith(prefix) for volume in shelves[title_id])


def test_shelf_has_every_published_volume_and_at_most_one_announced(
    catalog: dict[str, Record], shelves: dict[str, list[Record]]
) -> None:
    assert set(shelves) == set(catalog)
    for title_id, shelf in shelves.items():
        assert [volume["volume"] for volume in shelf] == list(range(1, len(shelf) + 1))
        coming = [volume["volume"] for volume in shelf if comes_out(volume)]
        assert coming == ([catalog[title_id]["volumes"] + 1] if catalog[title_id]["status"] == "Publishing" else [])
        assert len(shelf) == catalog[title_id]["volumes"] + len(coming)


def comes_out(volume: Record) -> bool:
    return date.fromisoformat(volume.get("release_date", "2000-01-01")) > REFERENCE


def test_release_dates_ascend_and_only_the_last_volumes_of_a_shelf_have_one(shelves: dict[str, list[Record]]) -> None:
    for shelf in shelves.values():
        dated = [(volume["release_date"], volume["volume"]) for volume in shelf if "release_date" in volume]
        assert dated == sorted(dated)
        assert [number for _, number in dated] == [volume["volume"] for volume in shelf[len(shelf) - len(dated) :]]


def test_a_volume_is_released_in_every_month_of_the_next_two_years(shelves: dict[str, list[Record]]) -> None:
    """The sample data does not change, and a question about this month's releases has an answer for a good while."""
    months = {volume["release_date"][:7] for shelf in shelves.values() for volume in shelf if "release_date" in volume}
    first = REFERENCE.year * 12 + REFERENCE.month - 1
    assert {f"{n // 12}-{n % 12 + 1:02}" for n in range(first, first + 25)} <= months


def test_paper_has_one_list_price_per_title(shelves: dict[str, list[Record]]) -> None:
    for title_id, shelf in shelves.items():
        (price,) = {volume["price_jpy"] for volume in shelf}
        assert 484 <= price <= 880, title_id
        assert price % 11 == 0, "ten per cent tax on whole yen"


def test_digital_is_cheaper_than_paper_and_sometimes_on_campaign(offers: dict[tuple[str, str], Record]) -> None:
    reductions = []
    for (title_id, kind), offer in offers.items():
        if kind != "digital":
            assert "campaign" not in offer
            continue
        regular = offer.get("list_price_jpy", offer["price_jpy"])
        assert 0.8 < regular / offers[title_id, "physical"]["price_jpy"] < 1
        assert offer["stock"] is None
        if "campaign" in offer:
            reductions.append(offer["price_jpy"] / regular)
    assert all(0.49 < reduction <= 0.7 for reduction in reductions)
    assert 0.05 < len(reductions) / sum(kind == "digital" for _, kind in offers) < 0.3


@cases("day", ["2026-11-20", "2027-03-15", "2027-03-16", "2028-02-29", "2031-12-31", "2032-01-01"])
def test_some_titles_are_on_campaign_whatever_the_day(offers: dict[tuple[str, str], Record], day: str) -> None:
    campaigns = [Campaign(**offer["campaign"]) for offer in offers.values() if "campaign" in offer]
    ends = [end for campaign in campaigns if (end := campaign.end(day))]
    assert 5 <= len(ends) < len(campaigns)
    assert min(ends) >= day


def test_offers_agree_with_the_shelf(
    offers: dict[tuple[str, str], Record], shelves: dict[str, list[Record]], catalog: dict[str, Record]
) -> None:
    for (title_id, kind), offer in offers.items():
        stocks = [volume["stock"] for volume in shelves[title_id]]
        price = shelves[title_id][0]["price_jpy"]
        if kind == "physical":
            assert (offer["price_jpy"], offer["stock"]) == (price, sum(stocks))
        if kind == "set":
            assert (offer["price_jpy"], offer["stock"]) == (price * len(stocks), min(stocks))
            assert catalog[title_id]["status"] == "Finished"
        if kind == "used_set":
            assert 0.35 < offer["price_jpy"] / (price * len(stocks)) <= 0.65
            assert offer["stock"] in (1, 2)
            assert catalog[title_id]["status"] == "Finished"
    assert {kind for _, kind in offers} == {"physical", "digital", "set", "used_set"}


def test_few_titles_are_sold_out_and_stock_varies(shelves: dict[str, list[Record]]) -> None:
    stocks = [volume["stock"] for shelf in shelves.values() for volume in shelf]
    assert set(stocks) <= set(range(61))
    sold_out = [title_id for title_id, shelf in shelves.items() if not any(volume["stock"] for volume in shelf)]
    assert 3 <= len(sold_out) <= 0.1 * len(shelves)
    assert 0.03 < stocks.count(0) / len(stocks) < 0.25


def test_the_sixty_most_popular_titles_have_volume_one_in_stock(
    catalog: dict[str, Record], shelves: dict[str, list[Record]]
) -> None:
    for title_id, record in catalog.items():
        if record["popularity_rank"] <= 60:
            assert shelves[title_id][0]["stock"] > 0


def test_only_sold_out_volumes_have_a_restock_date(shelves: dict[str, list[Record]]) -> None:
    volumes = [volume for shelf in shelves.values() for volume in shelf]
    for volume in volumes:
        day = volume.get("restock_date")
        assert day is None or (volume["stock"] == 0 and date.fromisoformat(day) > REFERENCE)
        assert not comes_out(volume) or (volume["stock"] == 0 and day is None)
    missing = [volume for volume in volumes if volume["stock"] == 0 and not comes_out(volume)]
    assert 0 < sum("restock_date" in volume for volume in missing) < len(missing)
