"""The way of a call: which stages it goes through, and that they run from the outside in."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from server import pipeline as the_pipeline
from server.call import Handler
from session.resilience.clocks import Clocks

pytestmark = pytest.mark.virtual_time


def test_the_order_of_the_stages_is_the_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot: whoever changes it changes what a call goes through. The watched way is the plain one, timed."""
    ways: list[list[str]] = []

    def note(stages: list[Any], innermost: Any) -> Handler:
        ways.append([type(getattr(each, "_stage", each)).__name__ for each in stages])
        return innermost  # type: ignore[no-any-return]

    monkeypatch.setattr(the_pipeline, "fold", note)
    parts = the_pipeline.Parts((), None, None, None, None, None, None, 1, 1, 1, cache=True, clocks=Clocks())  # type: ignore[arg-type]
    the_pipeline.build(parts)
    plain, watched, outermost = ways
    assert outermost == ["Telemetry"]
    assert plain == watched == [
        "Guard", "Shed", "Identify", "Validate", "OpenSession", "Shorten", "Idempotency", "Remember", "Complete", "Ladder", "Cache",
        "Admit", "EnforceDeadline",
    ]  # fmt: skip


async def test_fold_runs_stages_from_the_outside_in() -> None:
    seen: list[str] = []

    async def stage(call: Any, inner: Any, *, name: str) -> Any:
        seen.append(name)
        return await inner(call)

    async def innermost(call: Any) -> Any:
        seen.append("tool")
        return call

    run = the_pipeline.fold([partial(stage, name="a"), partial(stage, name="b")], innermost)  # type: ignore[list-item]
    assert await run("call") == "call"  # type: ignore[arg-type, comparison-overlap]
    assert seen == ["a", "b", "tool"]
