"""A shop with its own catalogue, ids, order numbers and files, served without a change of code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from server.backends.opening import preload
from server.config.parsing import SettingError
from server.config.settings import DEMO, Settings
from tests.support.calling import called, opened
from tools.store.identifiers import IdPattern

TITLES = [
    {"title_id": f"b{number:05d}", "title": {"en": name}, "offers": [{"format": "physical", "price_jpy": 700, "stock": 3}]}
    for number, name in enumerate(("Harbour Lights", "The Paper Lantern"), 1)
]
VOLUME = {"title_id": "b00001", "volume": 1, "isbn": None, "format": "physical", "price_jpy": 700, "stock": 3}
OWN = {"title_pattern": IdPattern("b[0-9]{5}"), "order_pattern": IdPattern(r"KYB-\d{8}")}


def write_lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def own_order(number: str) -> dict[str, object]:
    demo = json.loads((DEMO / "orders.jsonl").read_text("utf-8").splitlines()[0])
    return {**demo, "owner": "kyoko", "order_id": number}


async def test_orders_are_found_by_the_shops_own_numbers_in_common_spellings(tmp_path: Path) -> None:
    catalog = write_lines(tmp_path / "catalog.jsonl", *TITLES)
    orders = write_lines(tmp_path / "orders.jsonl", own_order("KYB-00000001"))
    volumes = write_lines(tmp_path / "volumes.jsonl", VOLUME)
    files = {"catalog_file": catalog, "orders_file": orders, "volumes_file": volumes}
    async with opened(tmp_path, **files, **OWN) as app:
        for said in ("KYB-00000001", "kyb 0000 0001", "00000001"):
            order = (await called(app, "lookup_order", {"order_id": said}, user="kyoko"))["structuredContent"]
            assert order["order_id"] == "KYB-00000001"
        refused = (await called(app, "lookup_order", {"order_id": "MNG-DEMO1001"}, user="kyoko"))["structuredContent"][
            "error"
        ]
        assert refused["name"] == "VALIDATION_ERROR"
        assert "KYB-12345678" in refused["message"]
        volumes_of = (await called(app, "find_volumes", {"title_id": "b00001"}))["structuredContent"]
        assert [each["volume"] for each in volumes_of["volumes"]] == [1]
        for said in ("B00001", "b 00001", "#B-00001"):
            details = (await called(app, "get_manga_details", {"title_id": said}))["structuredContent"]
            stock = (await called(app, "check_inventory", {"title_ids": [said, "b00002"]}))["structuredContent"]
            assert [details["title_id"], *(each["title_id"] for each in stock["items"])] == ["b00001", "b00001", "b00002"]
        name = (await called(app, "get_manga_details", {"title_id": "Naruto"}))["structuredContent"]["error"]
        assert name["name"] == "VALIDATION_ERROR"
        assert "search_manga_catalog first" in name["message"]
        listed = app.registry.get("lookup_order")
        assert listed is not None
        assert "MNG" not in json.dumps(listed.tool.input_schema)


async def test_own_catalogue_brings_no_demo_orders(tmp_path: Path) -> None:
    catalog = write_lines(tmp_path / "catalog.jsonl", *TITLES)
    async with opened(tmp_path, catalog_file=catalog, title_pattern=OWN["title_pattern"]) as app:
        orders = (await called(app, "lookup_order", {}))["structuredContent"]
    assert orders["orders"] == []


async def test_no_demo_order_is_served_beside_a_search_of_ones_own(tmp_path: Path) -> None:
    async with opened(tmp_path, catalog_url="http://127.0.0.1:9") as app:
        orders = (await called(app, "lookup_order", {}, user="demo-user-1"))["structuredContent"]
    assert orders["orders"] == []


async def test_readiness_names_policies_copied_of_the_demo(tmp_path: Path) -> None:
    file = tmp_path / "ours.md"
    file.write_bytes((DEMO / "policies.md").read_bytes())
    catalog = write_lines(tmp_path / "catalog.jsonl", *TITLES)
    settings = {"catalog_file": catalog, "title_pattern": OWN["title_pattern"], "policies_file": file}
    async with opened(tmp_path, **settings) as app:
        told = (await app.dependencies.states())["policies"]
    assert told["state"] == "ok"
    assert (
        "the demo shop's texts, until MANGA_POLICIES_FILE names yours; MangaAssist is the demo shop's name" in told["detail"]
    )


async def test_ids_that_do_not_match_the_configured_patterns_stop_the_start(tmp_path: Path) -> None:
    catalog = write_lines(tmp_path / "catalog.jsonl", *TITLES)
    orders = write_lines(tmp_path / "orders.jsonl", own_order("KYB-00000001"))
    with pytest.raises(SettingError, match="MANGA_CATALOG_FILE: title_id 'b00001' .* MANGA_TITLE_PATTERN"):
        async with opened(tmp_path, catalog_file=catalog):
            pass
    with pytest.raises(SettingError, match="line 1: .*MANGA_ORDER_PATTERN"):
        async with opened(tmp_path, orders_file=orders):
            pass


async def test_tags_of_the_shops_own_file_are_searched_and_excluded(tmp_path: Path) -> None:
    """Tags in lower case are those of the table; words of the shop's file find its own; a promise that no tag can keep is
    none."""
    tagged = [{**TITLES[0], "tags": ["romance", "comedy"]}, {**TITLES[1], "tags": ["seafaring", "comedy"]}]
    file = tmp_path / "tags.toml"
    file.write_text('[tags."Sea Stories"]\nsynonyms = ["seafaring"]\naversions = ["drowning"]\n', "utf-8")
    catalog = write_lines(tmp_path / "catalog.jsonl", *tagged)
    async with opened(tmp_path, catalog_file=catalog, title_pattern=OWN["title_pattern"], tags_file=file) as app:
        shown = {}
        for said in ("comedy without romance", "comedy, no seafaring", "comedy, no drowning", "comedy but no zombies"):
            shown[said] = (await called(app, "search_manga_catalog", {"query": said}))["structuredContent"]
        named = (await called(app, "search_manga_catalog", {"query": "seafaring"}))["structuredContent"]
    ids = {said: [each["title_id"] for each in answer["results"]] for said, answer in shown.items()}
    assert ids["comedy without romance"] == ["b00002"]
    assert ids["comedy, no seafaring"] == ids["comedy, no drowning"] == ["b00001"]
    assert "No title here is tagged Zombies" in shown["comedy but no zombies"]["note"]
    assert [each["title_id"] for each in named["results"]] == ["b00002"]


ODD = {
    **TITLES[0],
    "tags": ["Zeppelins"],
    "start_year": 3000,
    "offers": [{"format": "paperback", "price_jpy": 700, "stock": 3}],
}


async def test_a_start_over_odd_values_warns_once_with_their_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = {"catalog_file": write_lines(tmp_path / "catalog.jsonl", ODD), "title_pattern": OWN["title_pattern"]}
    async with opened(tmp_path, **files):
        pass
    (told,) = [each.getMessage() for each in caplog.records if "oddities" in each.getMessage()]
    assert told.startswith("catalog.jsonl has 3 oddities, the first: tag 'Zeppelins' is in no table")
    caplog.clear()
    preload(Settings(embedder="none", data_dir=tmp_path, **files), tmp_path, None)
    assert [each.levelname for each in caplog.records if each.getMessage() == told] == ["WARNING"]
    caplog.clear()
    async with opened(
        tmp_path, catalog_file=write_lines(tmp_path / "catalog.jsonl", *TITLES), title_pattern=OWN["title_pattern"]
    ):
        assert not [each for each in caplog.records if each.levelname == "WARNING"]
