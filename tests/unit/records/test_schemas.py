"""The schemas of the files agree with the loaders; an unusual value is reported and loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from server.config.settings import DEMO
from tools.store.identifiers import Identifiers, IdPattern
from tools.store.records.catalog_file import CatalogFileError, load, parse
from tools.store.records.schemas import FILES, find_odd_rows, find_odd_titles, schema_of
from tools.store.records.store_files import StoreFileError, read_orders, read_volumes


def lines_of(file: str) -> list[Any]:
    return [json.loads(line) for line in (DEMO / f"{file}.jsonl").read_text("utf-8").splitlines()]


def refused_by_loader(file: str, record: Any, folder: Path) -> bool:
    path = folder / f"{file}.jsonl"
    path.write_text(json.dumps(record), "utf-8")
    read: dict[str, Callable[[Path], object]] = {"catalog": load, "volumes": read_volumes, "orders": read_orders}
    try:
        read[file](path)
    except (CatalogFileError, StoreFileError):
        return True
    return False


def test_every_line_of_the_demo_is_of_its_schema() -> None:
    for file in FILES:
        validator = Draft202012Validator(schema_of(file))
        assert not [error.message for record in lines_of(file) for error in validator.iter_errors(record)], file


def test_schema_and_loader_refuse_the_same_wrong_shapes(tmp_path: Path) -> None:
    """Each field of a line in turn: left out, of another type, negative, empty; and a field that nobody knows."""
    wrong: tuple[Any, ...] = ([], {}, "", -1, 3.5, True, "x" * 30_000)
    for file in FILES:
        validator, record = Draft202012Validator(schema_of(file)), lines_of(file)[0]
        changed = [{**record, "colour": "red"}, *({k: v for k, v in record.items() if k != name} for name in record)]
        changed += [{**record, name: value} for name in record for value in wrong]
        for each in changed:
            schema_refuses = not validator.is_valid(each)
            if schema_refuses:  # a loader knows more: check digits, sums, dates
                assert refused_by_loader(file, each, tmp_path), (file, each)
    unknown = {**lines_of("catalog")[0], "colour": "red"}
    assert not Draft202012Validator(schema_of("catalog")).is_valid(unknown)


def test_an_id_that_is_not_of_the_shop_s_pattern_is_not_of_its_schema() -> None:
    """A title's or an order's; the demo's own are."""
    foreign = Identifiers(IdPattern("b[0-9]{5}"), IdPattern(r"KYB-\d{8}"))
    for file in FILES:
        record = lines_of(file)[0]
        assert Draft202012Validator(schema_of(file, Identifiers())).is_valid(record), file
        (error,) = Draft202012Validator(schema_of(file, foreign)).iter_errors(record)
        assert (error.validator, error.json_path) == ("pattern", "$.order_id" if file == "orders" else "$.title_id")


def test_all_problems_of_a_file_are_reported_at_once() -> None:
    good = lines_of("catalog")[0]
    bad = {**good, "title_id": "x-2", "rating": 9, "volumes": -1, "colour": "red", "offers": [{"format": "physical"}]}
    content = "\n".join(json.dumps(each) for each in (good, bad, {"title_id": "x-3"}, good)).encode()
    with pytest.raises(CatalogFileError, match=r"and 5 more: make seed ARGS=--dry-run lists them") as refused:
        parse(content)
    told = [str(each) for each in refused.value.problems]
    assert [line.split(":")[0] for line in told] == ["line 2"] * 4 + ["line 3", "line 4"]
    for expected in ("colour", "$.rating must be at most 5", "$.volumes must be at least 0", "$.offers[0] lacks: price_jpy"):
        assert any(expected in line for line in told), expected


def test_implausible_values_are_reported_with_their_record() -> None:
    title = {**lines_of("catalog")[1], "title_id": "m-1", "volumes": 6, "status": "Finished", "related": ["m-9"]}
    title |= {"start_year": 3000, "end_year": None, "offers": [{"format": "paperback", "price_jpy": 700, "stock": 1}]}
    records = parse(json.dumps(title).encode())
    volumes = [("m-1", volume) for _, volume in read_volumes(DEMO / "volumes.jsonl") if volume.volume > 6][:1]
    told = [*find_odd_titles(records), *find_odd_rows({"m-1": records[0][0]}, volumes, ())]
    for expected in ("start_year 3000", "format 'paperback'", "related 'm-9'", "the title has 6 volumes and is finished"):
        assert any(expected in line for line in told), expected
    assert not list(find_odd_titles(parse((DEMO / "catalog.jsonl").read_bytes())))
