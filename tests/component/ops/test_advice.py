"""The operators' page has advice for every failure and dependency."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

from server.config.settings import ROOT, Settings
from server.flags.document import Flags, parse
from server.ops.figures import DEPENDENCIES, DOCTOR, FAILURES, RUNBOOKS, UNKNOWN_FAILURE
from server.ops.observation import Observation, Process, flag_rows
from tests.support.calling import opened
from tests.support.events import an_event
from tests.support.flags import flags_of
from tools.registry import Registry
from tools.store import failures

HEADINGS = {each.lower() for each in re.findall(r"^## (\w+)$", (ROOT / RUNBOOKS).read_text("utf-8"), re.MULTILINE)}


def test_every_failure_kind_has_advice() -> None:
    kinds = [kind for kind in vars(failures).values() if inspect.isclass(kind) and issubclass(kind, failures.Failure)]
    assert {kind.name for kind in kinds if hasattr(kind, "name")} == set(FAILURES)


def test_runbook_anchors_in_advice_exist() -> None:
    """Each anchor is a heading of the runbooks."""
    told = [*FAILURES.values(), *DEPENDENCIES.values(), UNKNOWN_FAILURE, DOCTOR]
    pointed = re.findall(rf"{re.escape(RUNBOOKS)}#(\w+)", " ".join(told))
    assert len(pointed) >= 15
    assert set(pointed) <= HEADINGS


def test_advice_does_not_refer_to_the_page_layout() -> None:
    told = [*FAILURES.values(), *DEPENDENCIES.values(), UNKNOWN_FAILURE, DOCTOR]
    assert [each for each in told if re.search(r"\b(above|below)\b", each)] == []


async def test_every_dependency_has_advice(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        assert set(app.dependencies.probes) <= set(DEPENDENCIES)


async def test_flags_are_reported_with_kind_and_share_and_without_users(tmp_path: Path) -> None:
    someone = {"property": "user", "operator": "in", "value": ["someone"]}
    segments = [{"name": "vip", "conditions": [someone]}, {"name": "rest", "rollout": 5}]
    shares = {"check_inventory": {"percent": 20}, "get_recommendations": False, "lookup_order": True}
    some = json.dumps({**shares, "find_volumes": {"segments": segments}}).encode()
    async with opened(tmp_path) as app:
        flags = with_document(app.flags, some)
        told = {each["name"]: each for each in flag_rows(flags, app.registry, "file", lambda name: None)}
        seen = {each["name"]: each for each in flag_rows(flags, app.registry, "file", lambda name: 0.4)}
    kinds = {name: (each["kind"], each["on_share"]) for name, each in told.items()}
    assert kinds["check_inventory"] == ("percent", 0.2)
    assert kinds["get_recommendations"] == ("off", 0.0)
    assert kinds["lookup_order"] == ("boolean", 1.0)
    assert kinds["find_volumes"] == ("segments", 1.0)
    assert seen["find_volumes"]["on_share"] == 0.4
    assert kinds["preview_manga_pages"] == ("off", 0.0)
    assert "someone" not in str(told)


def test_hundred_flags_are_shown_with_their_share_and_tools_that_are_off_by_themselves() -> None:
    one = {"name": "a", "rollout": 12.3456}
    shapes: dict[str, Any] = {
        "almost": {"percent": 99.9},
        "all": {"percent": 100},
        "none": {"percent": 0},
        "named": {"segments": [one]},
        "two": {"segments": [one, {"name": "b", "rollout": 7}]},
        "preview_manga_pages": True,
        **{f"f{number}": False for number in range(95)},
    }
    rows = flag_rows(flags_of(**shapes), Registry(), "file", lambda name: None)
    assert [tuple(each.values()) for each in rows[:6]] == [
        ("almost", "percent", 0.999, "file"),
        ("all", "boolean", 1.0, "file"),
        ("none", "percent", 0.0, "file"),
        ("named", "percent", 0.123, "file"),
        ("two", "segments", 0.123, "file"),
        ("preview_manga_pages", "boolean", 1.0, "file"),
    ]
    off = [tool.name for tool in Registry() if not tool.default_on and tool.name != "preview_manga_pages"]
    assert [each["name"] for each in rows[99:]] == ["f93", *off]
    assert {"name": "preview_manga_pages", "kind": "off", "on_share": 0.0, "source": "the tool itself"} in flag_rows(
        flags_of(), Registry(), "file", lambda name: None
    )


async def test_state_tells_of_breakers_dependencies_streams_and_settings(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        settings = Settings(catalog_url="https://user:secret@search.example/", flags_url="file:///secret")
        process = Process(settings, app, worker=2)
        for outcome in ("ok", "CIRCUIT_OPEN", "SERVER_BUSY", "TIMEOUT"):
            app.metrics(an_event(outcome=outcome.encode().decode()))
        with_document(app.flags, b'{"check_inventory": true}')
        observation = Observation(process)
        breaker = app.backends["orders"].breaker
        breaker.since = app.clocks.monotonic() - 7.3
        before, hello = observation.state(), observation.hello()
        for _ in range(breaker.policy.in_a_row):
            breaker.record_failure(breaker.era, "broken")
        after = observation.state()
        observation.end()
    orders = [next(each for each in state["breakers"] if each["name"] == "orders") for state in (before, after)]
    assert orders[0] | {"since_s": 0} == {
        "name": "orders", "state": "closed", "since_s": 0, "fault": None, "retry_after_ms": None, "changes": 0
    }  # fmt: skip
    assert orders[1] | {"since_s": 0, "retry_after_ms": 0} == {
        "name": "orders", "state": "open", "since_s": 0, "fault": "broken", "retry_after_ms": 0, "changes": 1
    }  # fmt: skip
    assert 7.3 <= orders[0]["since_s"] == round(orders[0]["since_s"], 1) < 60
    assert 0 < orders[1]["retry_after_ms"] <= 2000
    assert before["sessions"] == {"active": 0, "streams": {"sse": 0, "mcp": 0, "ws": 0}}
    assert before["calls"] == {"per_second": 0.0, "under_way": 0, "shed": 1, "total": 4}
    assert [each["source"] for each in before["flags"][:2]] == ["file", "the tool itself"]
    assert repr(process.key) not in repr(process)
    assert before["at"] == round(before["at"], 3)
    server = hello["server"]
    assert (server["worker"], server["started_at"], len(server["replica"])) == (2, round(server["started_at"], 1), 12)
    assert {name: server["settings"][name] for name in ("catalog", "store", "redis", "flags")} == {
        "catalog": "https", "store": "embedded", "redis": "embedded", "flags": "file"
    }  # fmt: skip
    assert "secret" not in str(hello)
    fallbacks = {each["name"]: each["fallback"] for each in hello["tools"]}
    assert (fallbacks["lookup_order"], fallbacks["search_manga_catalog"]) == (None, "cached_popular_manga")


def with_document(flags: Flags, content: bytes) -> Flags:
    flags.document = parse(content)
    return flags
