"""What doctor finds, by name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from server.commands.doctor import examine
from server.config.settings import Settings

BOUND_SECONDS = 90
PATIENT_SECONDS = 60.0
"""That a check has its five seconds is shown elsewhere (tests/component/commands/test_doctor.py): on a busy machine they are
too few to load an encoder in."""
Finding = dict[str, Any]
Doctor = Callable[..., Awaitable[dict[str, Finding]]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """The findings by name; fails where the exit status and they disagree."""

    async def run(most_seconds: float = PATIENT_SECONDS, **settings: Any) -> dict[str, Finding]:
        async with asyncio.timeout(BOUND_SECONDS):
            status = await examine(Settings(**{"embedder": "none", **settings}), as_json=True, most_seconds=most_seconds)
        report = json.loads(capsys.readouterr().out)
        found = {each["name"]: each for each in report["dependencies"]}
        assert (status == 0) is report["well"] is all(each["state"] == "ok" for each in found.values())
        return found

    return run
