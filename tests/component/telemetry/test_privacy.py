"""Allowlists of what results, history, log lines, spans and metrics can hold, written here a second time."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields, is_dataclass, replace
from importlib.metadata import version
from typing import Any, get_args, get_type_hints

import pytest
from jsonschema import Draft202012Validator

from server.config.settings import DEMO, ROOT
from server.stages.telemetry import select_remembered
from server.telemetry.log_calls import CallLog
from server.telemetry.metrics import Metrics
from server.version import VERSION
from session.history import compact
from session.keys import user_hash
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.clocks import utc_now
from tests.support.examples import free_texts
from tests.support.observers import Wants
from tests.support.pipeline import Kit, open_kit
from tests.support.store import Shelf
from tests.support.traces import spans_of
from tools.contract import Tool
from tools.find_volumes import VOLUME
from tools.registry import TOOLS
from tools.results.orders import OUTPUT, present_latest, present_order
from tools.schema.parts import RESULT_SET
from tools.store.identifiers import MONTH, TITLE_ID
from tools.store.models import Order
from tools.store.records.store_files import read_orders

EVERY_TOOL = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
NOT_FOR_SHOPPERS = re.compile(
    r"street|address|building|apartment|postal|postcode|zip|city|phone|tel|fax|e?mail|payment|pay|card|bank|cvv|iban"
    r"|recipient|customer|owner|surname|birth|password|token",
    re.IGNORECASE,
)
ORDER_FIELDS = {
    "order_id status status_ja ordered_at lines subtotal_jpy shipping_jpy total_jpy prefecture shipments "
    "estimated_delivery note return_until",
    "title_id title volume isbn format quantity unit_price_jpy supply expected_date tracking_number",
    "carrier service tracking_number status status_ja shipped_at delivered_at events",
    "status status_ja at place",
}
CONDITIONS = {
    *("status", "min_volumes", "max_volumes", "from_year", "to_year", "audience", "max_price_jpy", "in_stock", "format"),
    *("sort", "offset"),
}
REMEMBERED = {
    "search_manga_catalog": {"genre", "max_results", "min_rating", *CONDITIONS},
    "get_manga_details": {"title_id"},
    "check_inventory": {"title_ids", "result_set"},
    "get_recommendations": {"count", *CONDITIONS},
    "find_volumes": {"title_id", "volume", "format", "month", "offset"},
    "classify_genre": set(),
    "lookup_order": set(),
}
TYPED = "canary words that a customer typed"
ASKED: dict[str, dict[str, Any]] = {tool.name: free_texts(tool, TYPED) for tool in TOOLS} | {
    **dict.fromkeys(("check_inventory", "compare_prices", "get_ratings"), {"title_ids": ["manga-000001"]}),
    "get_manga_details": {"title_id": "manga-000001"},
    "get_recommendations": {"criteria": TYPED, "user_id": "u", "exclude_titles": [TYPED]},
}
PERSONAL = [TYPED, "MNG-UUUU0001", "Title manga-000001"]
LABELS = {
    "tool": {tool.name for tool in TOOLS},
    "outcome": None,
    "variant": {"on", "off"},
    "source": {"live", "cache", "stale", "fallback", "none"},
    "what": {"session", "vector", "stock", "orders", "profile", "taste", "catalog"},
    "transport": {"sse", "streamable_http", "stdio", "cli"},
    "result": {"written", "dropped"},
    "level": {"in_time", "usable"},
    "verdict": {"good", "bad"},
    "replica": {"flags", "standby"},
    "backend": {"catalog", "titles", "stock", "releases", "orders", "profile", "redis", "classifier"},
    "version": {VERSION},
    "python": {platform.python_version()},
    "sdk": {version("mcp")},
    "le": None,
}

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def kit(redis: MultiplexedRedis, shelf: Shelf) -> AsyncIterator[Kit]:
    async with open_kit(redis, shelf.in_moods(), observers=[Wants(traces=True)]) as own:
        yield own


# -- results


@EVERY_TOOL
def test_no_output_schema_has_a_field_for_address_phone_mail_or_payment(tool: Tool) -> None:
    names = list(_property_names(tool.output_schema))
    assert [name for name in names if NOT_FOR_SHOPPERS.search(name)] == []
    assert names, "it looked at something"


def test_order_model_has_only_the_listed_fields() -> None:
    """The model has no other field at any depth, and the store's rows are decoded into it."""
    assert {frozenset(names) for names in _models(Order)} == {frozenset(names.split()) for names in ORDER_FIELDS}


def test_demo_orders_satisfy_the_output_schema_without_additional_properties() -> None:
    """The schema is closed at every depth, so every returned field is declared."""
    closed = Draft202012Validator(_closed(OUTPUT))
    orders = read_orders(DEMO / "orders.jsonl")
    for _, order in orders:
        closed.validate(present_order(order, utc_now()))
    closed.validate(present_latest([order for _, order in orders], utc_now()))
    assert len(orders) > 10
    assert not closed.is_valid({**present_order(orders[0][1], utc_now()), "street": "1-2-3"}), "the door is shut"


# -- history, log, spans, metrics


@EVERY_TOOL
def test_history_and_log_record_only_the_listed_arguments(tool: Tool) -> None:
    """A recorded value is a number, a title id or a word of an enum: no typed text, no order, no customer."""
    assert set(tool.remembered) == REMEMBERED.get(tool.name, set(tool.remembered))
    for name in tool.remembered:
        for rule in _strings(tool.input_schema["properties"][name]):
            assert "enum" in rule or rule.get("pattern") in (TITLE_ID, RESULT_SET, MONTH, VOLUME), name


@EVERY_TOOL
async def test_call_leaves_nothing_personal_in_history_log_span_or_metric(
    tool: Tool, kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    answer = await kit.ask(tool.name, ASKED[tool.name], user="u", session="s")
    assert answer.failure is None, answer.result
    event = kit.events[-1]
    (call,) = (await kit.memory.recall("s", "u")).calls
    history = compact(replace(call, words="").as_dict())  # the customer's own words are for their own session alone
    CallLog("all")(event)
    metrics = Metrics()
    metrics(event)
    spans = "".join(span.to_json() for span in spans_of(event))
    told = {"history": history, "log": caplog.text, "span": spans, "metrics": metrics.text_for("")[0].decode()}
    assert {where: text for where, text in told.items() if any(each in text for each in PERSONAL)} == {}
    assert tool.name in history
    assert tool.name in caplog.text
    assert tool.name in spans
    assert user_hash("u") not in spans + told["metrics"] + history
    assert set(select_remembered(answer.call, answer.outcome)) <= set(tool.remembered)


@EVERY_TOOL
async def test_refused_call_records_none_of_its_arguments(tool: Tool, kit: Kit) -> None:
    """Refused arguments were not validated and can be anything."""
    answer = await kit.ask(tool.name, {**ASKED[tool.name], "genre": TYPED, "count": TYPED, "x": 1}, user="u", session="s")
    assert answer.failure == "VALIDATION_ERROR"
    assert kit.events[-1].arguments == {}
    assert kit.events[-1].violations, "where, and which rule"
    told = {path for path, _ in kit.events[-1].violations}
    assert told <= {"$", *(f"$.{name}" for name in tool.input_schema["properties"])}, "no name that somebody chose"
    assert (await kit.memory.recall("s", "u")).calls == (), "it never got to a session"


LOGS = """
import logging
from server.telemetry.log_output import log_to_stderr
log_to_stderr("debug")
for name in ("botocore.endpoint", "aiobotocore", "opensearch", "httpx", "mcp.server.sse", "a_library_yet_unknown", ""):
    logging.getLogger(name).info("MNG-UUUU0001")
    logging.getLogger(name).debug("MNG-UUUU0001")
logging.getLogger("mcp.server.sse").error("MNG-UUUU0001")
for name in ("server.commands.cli", "session.memory", "tools.store.catalog.popular", "manga.calls"):
    logging.getLogger(name).debug("of one's own")
logging.getLogger("a_library_yet_unknown").warning("a warning")
"""


def test_debug_level_applies_to_the_servers_own_loggers_only() -> None:
    """At debug level botocore logs every request with its order number, so libraries log warnings only."""
    done = subprocess.run([sys.executable, "-c", LOGS], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert "MNG-" not in done.stderr
    assert done.stderr.count("of one's own") == 4
    assert "a warning" in done.stderr


async def test_spans_have_only_the_listed_attributes(kit: Kit) -> None:
    await kit.ask("lookup_order", ASKED["lookup_order"], user="u", session="s")
    call, *within = spans_of(kit.events[-1], {"orders": "aws.dynamodb"})
    allowed = {"mcp.method.name", "gen_ai.tool.name", "gen_ai.operation.name", "network.transport"}
    allowed |= {
        f"manga.{name}" for name in ("transport", "call_id", "outcome", "degraded", "source", "budget_left_ms", "variant")
    }
    assert set(call.attributes or {}) == allowed
    said = {name for span in within for name in span.attributes or {}}
    assert said == {
        "db.system.name",
        "db.operation.name",
        *(f"manga.{name}" for name in ("backend", "attempt", "waited_ms", "steps")),
    }


async def test_metric_labels_come_from_a_closed_set(kit: Kit) -> None:
    """No caller can add a time series."""
    metrics = Metrics()
    series = []
    for number in range(30):
        for tool in TOOLS:
            asked = {name: value for name, value in ASKED[tool.name].items() if name != "user_id"}
            await kit.ask(tool.name, asked, user=f"u{number}", session=f"s{number}")
            metrics(kit.events[-1])
        series.append(metrics.text_for("")[0].count(b"\n"))
    assert series[-1] - series[0] < 30, "more than what comes of answers from the cache"
    for metric in metrics.registry.collect():
        for sample in metric.samples:
            for label, value in sample.labels.items():
                known = LABELS[label]
                assert known is None or value in known, f"{metric.name}: {label}={value}"
                assert known is not None or re.fullmatch(r"ok|cancelled|[A-Z_]+|\+Inf|[0-9.]+", value), value


def _property_names(schema: Any) -> Iterator[str]:
    for part in _objects(schema):
        yield from part.get("properties", {})


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object within a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for name, each in schema.items():
            values = each.values() if name == "properties" else [each]
            for value in values:
                yield from _objects(value)
    elif isinstance(schema, list):
        for each in schema:
            yield from _objects(each)


def _strings(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every schema of a text within that of an argument."""
    kind = schema.get("type")
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        yield schema
    for each in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])):
        yield from _strings(each)


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {name: _closed(each) for name, each in schema.items()}
    return {**shut, "additionalProperties": False} if schema.get("type") == "object" else shut


def _models(model: type) -> Iterator[set[str]]:
    """The names of the fields of a model, and of those that it is made of."""
    yield {field.name for field in fields(model)}
    for hint in get_type_hints(model).values():
        for part in get_args(hint):
            if is_dataclass(part) and isinstance(part, type):
                yield from _models(part)
