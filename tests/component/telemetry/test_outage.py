"""An outage is logged once at its start and once at its end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

from server.runtime.health import Dependencies
from server.telemetry.metrics import Metrics, log_breaker_changes
from session.redis.address import RedisAddress
from session.redis.multiplexed import DIALS, Dialer, MultiplexedRedis, Wire
from session.resilience.breaker import BreakerPolicy, Outage
from session.resilience.deadline import Deadline
from session.resilience.tasks import start_task
from tests.support.clocks import HandClock
from tests.support.valkey import eventually
from tools.store.backends.embedding import IN_A_ROW, WatchedEmbedder
from tools.store.failures import DependencyFailure, InternalFailure
from tools.store.guarded import Backend, BackendPolicy
from tools.store.models import Health

TOLD = logging.getLogger("server.test")


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in caplog.records]


@pytest.fixture(autouse=True)
def _every_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_outage_is_logged_at_its_start_and_end(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock(0.0)
    outage = Outage(TOLD, "the thing", after=2, clock=clock)
    outage.record_recovery()
    outage.record_failure("once is nothing")
    outage.record_recovery()
    for _ in range(100):
        outage.record_failure("it is away")
    clock.advance(12.0)
    outage.record_recovery()
    outage.record_recovery()
    assert said(caplog) == [("WARNING", "the thing is lost: it is away"), ("INFO", "the thing is back after 12.0 s")]


async def test_opened_breaker_is_logged_once_with_its_reason_until_recovery(caplog: pytest.LogCaptureFixture) -> None:
    """Failing probes during the outage are not logged."""
    clock, metrics = HandClock(0.0), Metrics()
    backend = Backend("orders", BackendPolicy(0.25, 0.3), clock, on_change=log_breaker_changes())
    metrics.watch_breakers([backend.breaker])
    works = False

    async def ask(_: Deadline) -> None:
        if not works:
            raise DependencyFailure("The store cannot be reached.", dependency="orders")

    async def call() -> None:
        try:
            await backend.call(ask, Deadline.after(0.001))
        except DependencyFailure:
            clock.advance(0.0)

    for _ in range(5):
        await call()
    assert b'manga_breaker_state{backend="orders"} 2.0' in metrics.text_for("")[0]
    for _ in range(5):
        clock.advance(BreakerPolicy(1.0).longest * 2)
        await call()
    works = True
    for _ in range(2):
        clock.advance(BreakerPolicy(1.0).longest * 2)
        await call()
    (lost_level, lost), (found_level, found) = said(caplog)
    assert (lost_level, found_level) == ("WARNING", "INFO")
    assert "orders" in lost
    assert lost.endswith(": DEPENDENCY_FAILURE, The store cannot be reached.")
    assert "is back" in found


async def test_unreachable_redis_is_logged_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is logged without any call that needs it, and once for any number of dials."""
    redis = MultiplexedRedis(RedisAddress(port=1, password="secret"))
    dialled = 0
    dial = Dialer.dial

    async def counted(self: Dialer, when_lost: Callable[[], None]) -> Wire:
        nonlocal dialled
        dialled += 1
        return await dial(self, when_lost)

    monkeypatch.setattr(Dialer, "dial", counted)
    await redis.connect(Deadline.after(0.1))
    await eventually(lambda: dialled >= 2 * DIALS)
    await redis.aclose()
    assert [level for level, _ in said(caplog)] == ["WARNING"]
    assert caplog.messages[0].startswith("Redis at 127.0.0.1:1 is lost: ConnectionRefusedError")
    assert "secret" not in caplog.text


async def test_failing_health_probe_is_logged_once_and_its_recovery_too(caplog: pytest.LogCaptureFixture) -> None:
    well = False

    async def probe(_: Deadline) -> Health:
        return Health(well, "" if well else "does not answer")

    dependencies = Dependencies({"catalog": (probe, None)})
    for well in (False, False, True, True):
        dependencies.asked_at = float("-inf")
        states = await dependencies.states()
        assert states["catalog"]["state"] == ("ok" if well else "down")
    assert [level for level, _ in said(caplog)] == ["WARNING", "INFO"]


class Encoder:
    """An embedder that fails as it is told."""

    name, dimensions = "e", 2

    def __init__(self) -> None:
        self.failure: Exception | None = None

    async def embed(self, texts: object, deadline: Deadline) -> np.ndarray:  # type: ignore[type-arg]
        if self.failure is not None:
            raise self.failure
        return np.ones((1, 2), np.float32)


async def ask(embedder: WatchedEmbedder, times: int) -> None:
    for _ in range(times):
        with suppress(DependencyFailure, InternalFailure):
            await embedder.embed(["x"], Deadline.after(1))


async def test_failing_embedder_is_logged_and_shown_in_health(caplog: pytest.LogCaptureFixture) -> None:
    encoder = Encoder()
    watched = WatchedEmbedder(encoder)
    encoder.failure = DependencyFailure("The embedder cannot be used.", dependency="embedder")
    await ask(watched, IN_A_ROW - 1)
    assert (await watched.health(Deadline.after(1))).ok
    await ask(watched, 10)
    assert not (await watched.health(Deadline.after(1))).ok
    encoder.failure = None
    await ask(watched, 1)
    assert (await watched.health(Deadline.after(1))).ok
    assert [level for level, _ in said(caplog)] == ["WARNING", "INFO"]


async def test_embedder_that_is_not_installed_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    encoder = Encoder()
    encoder.failure = InternalFailure("The embedder is not installed.")
    watched = WatchedEmbedder(encoder)
    await ask(watched, 5)
    assert said(caplog) == [("WARNING", "the embedder is lost: The embedder is not installed. Searches go by words alone.")]
    assert not (await watched.health(Deadline.after(1))).ok


async def test_task_that_dies_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise RuntimeError("nobody foresaw it")

    task = start_task(work(), "a task")
    await eventually(task.done)
    await eventually(lambda: caplog.records)
    assert said(caplog) == [("ERROR", "the task 'a task' has died")]
