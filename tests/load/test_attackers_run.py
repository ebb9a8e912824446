"""The attackers' measurement runs: briefly, and with figures that hold together. How long others waited is for a quiet machine."""

from __future__ import annotations

import argparse

import pytest

from tests.load import attackers
from tests.support.large_catalog import large_catalog
from tools.registry import TOOLS

pytestmark = pytest.mark.timeout(300)


async def test_every_tool_is_attacked_and_others_are_answered_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attackers, "evaluation_set", lambda: None)
    monkeypatch.setattr(attackers, "large_catalog", lambda: large_catalog(200))
    found = await attackers.measure(argparse.Namespace(attackers=2, seconds=0.5, no_limits=True))
    assert [each.attack for each in found] == ["nobody", *(tool.name for tool in TOOLS)]
    assert all(each.calls for each in found[1:])
    assert all(each.health and each.order for each in found)
    told = list(attackers.table(found, 2))
    assert len(told) >= len(found) + 3


async def test_the_transport_is_attacked_and_others_are_answered_beside_it() -> None:
    """By batches, lists and frames; by each kind of frame where it is measured."""
    found = [*await attackers.wire(1.0, "unread"), *await attackers.wire(1.0, "pings")]
    assert len(found) == 4
    assert all(each.calls and each.health and each.order for each in found)
