"""The operators' page has advice for every failure and dependency."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

from server.config.settings import ROOT
from server.flags.document import Flags, parse
from server.ops.figures import DEPENDENCIES, DOCTOR, FAILURES, RUNBOOKS, UNKNOWN_FAILURE
from server.ops.observation import flag_rows
from tests.support.calling import opened
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


def with_document(flags: Flags, content: bytes) -> Flags:
    flags.document = parse(content)
    return flags
