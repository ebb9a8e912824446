"""What it costs to hold arguments and results against their schemas, by what is used and by jsonschema-rs.

    python3 -m venv /tmp/compared && /tmp/compared/bin/pip install -r requirements.lock jsonschema-rs
    /tmp/compared/bin/python -m tests.load.schema_validation

Arguments are validated as calls bring them: by `jsonschema`, and the whole way through `ArgumentsValidator`, with cleaning and
defaults. Results from the cache are held against their output schema by the quick check. Each is timed in turn, in every
round; ratios are taken within a round, and the median of the rounds counts. The exit status is 1 when jsonschema-rs tells
something else of wrong arguments.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tools import check_inventory, get_manga_details, search_manga_catalog
from tools import check_inventory as inventory
from tools.registry import TOOLS, Registry
from tools.results import orders
from tools.results import rows as details
from tools.schema.text import clean
from tools.schema.validation import ArgumentsValidator, compile_success_check
from tools.store.models import Availability
from tools.store.records.catalog_file import load
from tools.store.records.store_files import read_orders, read_volumes

DEMO = Path(__file__).resolve().parents[2] / "infra" / "demo"
ROUNDS, SECONDS = 7, 0.05
IDS = [f"manga-{number:06}" + "x" * 52 for number in range(20)]
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "search_manga_catalog": {
        "typical": {"query": "dark fantasy with a big sword", "max_results": 5},
        "largest": {"query": "漫" * 500, "genre": "seinen", "author": "浦" * 200, "max_results": 20, "min_rating": 4.5},
    },
    "get_manga_details": {"typical": {"title_id": "manga-001001"}},
    "check_inventory": {"typical": {"title_ids": ["manga-001001"]}, "largest": {"title_ids": IDS}},
    "get_recommendations": {
        "typical": {"criteria": "like Berserk, but shorter"},
        "largest": {"criteria": "x" * 500, "user_id": "u" * 255, "exclude_titles": ["漫" * 300] * 50, "count": 10},
    },
    "classify_genre": {"typical": {"text": "A chef inherits a haunted inn."}, "largest": {"text": "漫" * 2000}},
    "lookup_order": {"typical": {"order_id": "MNG-DEMO1001"}},
}


WRONG: tuple[Mapping[str, Any], ...] = (
    {},
    {"nonsense": 1, "more": 2},
    {"query": "", "criteria": "", "title_id": "no id", "order_id": "MNG-DEMO1001\n"},
    {"query": 5, "max_results": 500, "min_rating": math.inf, "genre": "shonnen"},
    {"criteria": "x" * 501, "count": 0.5, "exclude_titles": ["", 1, None]},
    {"title_ids": ["a b"] * 21, "result_set": "rs_1", "min_rating": 10**400},
)


@dataclass(frozen=True, slots=True)
class Case:
    """One value, and the ways in which it is checked. Times are told in proportion to the first."""

    name: str
    ways: Mapping[str, Callable[[], object]]


def main() -> int:
    try:
        import jsonschema_rs
    except ImportError:
        sys.stderr.write(f"jsonschema-rs is not installed; see {__file__} for an environment that has it\n")
        return 2
    compared = jsonschema_rs.Draft202012Validator
    for case in (*arguments(compared), *results(compared)):
        print(measured(case))
    others = told_otherwise(compared)
    print(
        f"of {len(WRONG) * len(TOOLS)} wrong arguments {len(others)} are told of by another path or rule: {others or 'none'}"
    )
    return 1 if others else 0


def arguments(rust: Callable[[Any], Any]) -> list[Case]:
    cases = []
    registry = Registry()
    for tool, values in ARGUMENTS.items():
        registered = registry.get(tool)
        assert registered is not None
        python, other = Draft202012Validator(registered.tool.input_schema), rust(registered.tool.input_schema)
        for size, given in values.items():
            ways = {
                "jsonschema": lambda python=python, given=given: list(python.iter_errors(given)),
                "jsonschema-rs": lambda other=other, given=given: list(other.iter_errors(given)),
                "all of validation": lambda check=registered.validator, given=given: check.validate(given),
            }
            assert ways["jsonschema"]() == ways["jsonschema-rs"]() == []
            cases.append(Case(f"{tool}, {size} arguments", ways))
    return cases


def results(rust: Callable[[Any], Any]) -> list[Case]:
    cases = []
    for name, (schema, value) in _answers().items():
        sent = json.loads(json.dumps(value))
        quick, other, python = compile_success_check(schema), rust(schema), Draft202012Validator(schema)
        ways = {
            "quick check": lambda quick=quick, sent=sent: quick(sent),
            "jsonschema-rs": lambda other=other, sent=sent: other.is_valid(sent),
            "jsonschema": lambda python=python, sent=sent: python.is_valid(sent),
        }
        assert all(way() for way in ways.values()), name
        cases.append(Case(f"{name}, {len(json.dumps(sent)):,} characters", ways))
    return cases


def told_otherwise(compared: Callable[[Any], Any]) -> list[str]:
    """The tools and wrong arguments, cleaned as a call's are, of which the other tells something else."""
    others = []
    for tool in TOOLS:
        own, other = ArgumentsValidator(tool.input_schema)._validator.iter_errors, compared(tool.input_schema).iter_errors
        for given in map(clean, WRONG):
            expected = sorted((list(map(str, each.absolute_path)), str(each.validator)) for each in own(given))
            told = sorted((list(map(str, each.instance_path)), str(each.schema_path[-1])) for each in other(given))
            if expected != told:
                others.append(f"{tool.name} {given}")
    return others


def _answers() -> dict[str, tuple[Any, Any]]:
    """Results as the demo catalogue gives them: one, and the most that a call may bring."""
    titles = tuple(title for title, _ in load(DEMO / "catalog.jsonl"))
    volumes = [volume for title_id, volume in read_volumes(DEMO / "volumes.jsonl") if title_id == titles[0].title_id]
    row = Availability(titles[0].title_id, (), tuple(volumes), "2026-11-01T00:00:00.000Z")
    rows = [inventory.item(row, {}) for _ in range(20)]
    now = datetime(2026, 11, 1, tzinfo=UTC)
    order = max((order for _, order in read_orders(DEMO / "orders.jsonl")), key=lambda order: len(order.lines))
    return {
        "five hits": (search_manga_catalog.OUTPUT, search_manga_catalog.results(titles[:5], 5)),
        "twenty hits": (search_manga_catalog.OUTPUT, search_manga_catalog.results(titles[:20], 20)),
        "details": (get_manga_details.OUTPUT, details.title_facts(titles[0])),
        "stock of twenty": (check_inventory.OUTPUT, {"items": rows, "not_found": [], "unanswered": []}),
        "an order": (orders.OUTPUT, orders.present_order(order, now)),
    }


def measured(case: Case) -> str:
    rounds = [{name: _seconds(way) for name, way in case.ways.items()} for _ in range(ROUNDS)]
    first = next(iter(case.ways))
    told = [f"{first} {1e6 * statistics.median(each[first] for each in rounds):.1f} µs"]
    told += [
        f"{name} {statistics.median(each[name] / each[first] for each in rounds):.2f} of it"
        for name in case.ways
        if name != first
    ]
    return f"{case.name}: {', '.join(told)}"


def _seconds(way: Callable[[], object]) -> float:
    """Of one run, as the mean of as many as fit into a twentieth of a second."""
    runs, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < SECONDS:
        way()
        runs += 1
    return passed / runs


if __name__ == "__main__":
    sys.exit(main())
