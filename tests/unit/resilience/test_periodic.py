"""A periodic task survives unexpected errors."""

from __future__ import annotations

import asyncio
import logging

import pytest

from session.resilience import tasks as rounds
from tests.support.valkey import eventually


async def test_failed_round_is_logged_and_the_next_one_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rounds, "AFTER_ERROR_SECONDS", 0.001)
    done: list[int] = []

    async def work() -> float:
        done.append(len(done))
        if len(done) == 1:
            raise KeyError("nobody foresaw this")
        return 0.001

    with caplog.at_level(logging.ERROR):
        task = asyncio.create_task(rounds.run_periodically("the work", work))
        await eventually(lambda: len(done) > 3)
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [record.message for record in caplog.records] == ["the work: this round failed"]
