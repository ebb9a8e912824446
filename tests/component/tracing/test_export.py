"""Traces are exported to a collector; a bad collector costs no call."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from server.application import Application
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.tracing import sending
from server.wiring import open_app
from tests.support.calling import called
from tests.support.collector import Collector, collecting
from tests.support.valkey import eventually

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{PARENT}-01"
LOGGER = "server.tracing.sending"
IDS = {"title_ids": ["manga-000001"]}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as own:
        yield own


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, collector: Collector) -> pytest.MonkeyPatch:
    """Spans leave at once, and nobody is waited for long."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    return monkeypatch


def opened(folder: Path) -> Any:
    return open_app(Settings(embedder="none", data_dir=folder), local=True)


async def ask(app: Application, traceparent: str | None = SAMPLED) -> dict[str, Any]:
    return await called(app, "check_inventory", IDS, traceparent=traceparent)


async def test_call_is_exported_as_a_trace_under_its_callers_span(
    environment: pytest.MonkeyPatch, collector: Collector, tmp_path: Path
) -> None:
    environment.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a-secret")
    environment.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=prod,service.name=not-this")
    environment.setenv("OTEL_SERVICE_NAME", "shop")
    async with opened(tmp_path) as app:
        assert not (await ask(app))["isError"]
    own = collector.named("tools/call check_inventory")
    assert (own.trace_id.hex(), own.parent_span_id.hex()) == (TRACE, PARENT)
    assert {each.trace_id.hex() for each in collector.spans} == {TRACE}
    ids = {each.span_id for each in collector.spans}
    assert [each.name for each in collector.spans if each.parent_span_id not in ids] == [own.name], "no orphans"
    assert {"stage cache", "work check_inventory", "availability stock", "begin redis"} <= {
        each.name for each in collector.spans
    }
    assert collector.headers[0]["authorization"] == "Bearer a-secret"
    said = collector.resource
    assert (said["service.name"], said["deployment.environment.name"]) == ("shop", "prod")
    assert {"service.version", "service.instance.id"} <= set(said)


async def test_call_not_sampled_by_its_caller_is_not_exported(
    environment: pytest.MonkeyPatch, collector: Collector, tmp_path: Path
) -> None:
    async with opened(tmp_path) as app:
        await ask(app, f"00-{TRACE}-{PARENT}-00")
        await ask(app)
    assert [each.name for each in collector.spans].count("tools/call check_inventory") == 1


async def test_default_service_name_is_that_of_the_server(
    environment: pytest.MonkeyPatch, collector: Collector, tmp_path: Path
) -> None:
    async with opened(tmp_path) as app:
        await ask(app)
    assert collector.resource["service.name"] == "manga-tools"


async def test_unreachable_collector_costs_no_call_and_is_logged_once(
    environment: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environment.setattr(sending, "EXPORT_SECONDS", 0.05)
    caplog.set_level(logging.INFO)
    with collecting() as gone:
        pass
    environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", gone.endpoint)
    with ExitStack() as later:
        async with opened(tmp_path) as app:
            for _ in range(3):
                assert not (await ask(app))["isError"]
                await eventually(lambda: "is lost" in caplog.text)
            back = later.enter_context(collecting(gone.port))
            await ask(app)
            await eventually(lambda: "is back" in caplog.text)
            assert back.spans
    lost, found = [each.getMessage() for each in caplog.records if each.name.startswith((LOGGER, "opentelemetry"))]
    why = "connection refused: nothing listens there; start it, or correct OTEL_EXPORTER_OTLP_ENDPOINT"
    assert lost == f"the collector of traces is lost: {why}"
    assert found.startswith("the collector of traces is back after")
    assert str(gone.port) not in caplog.text


@pytest.mark.parametrize("status", [401, 307], ids=["it refuses", "it sends elsewhere, where nobody follows"])
async def test_error_status_of_the_collector_is_logged(
    status: int, environment: pytest.MonkeyPatch, collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = status
    async with opened(tmp_path) as app:
        await ask(app)
        await eventually(lambda: "is lost" in caplog.text)
    assert f"the collector of traces is lost: it answers HTTP {status}" in caplog.text


async def test_endless_answer_of_the_collector_is_cut_off(
    environment: pytest.MonkeyPatch, collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    collector.endless = True
    async with opened(tmp_path) as app:
        await ask(app)
        assert await asyncio.to_thread(collector.cut_off.wait, 30)
    assert collector.spans
    assert "is lost" not in caplog.text


async def test_batches_share_a_connection(environment: pytest.MonkeyPatch, collector: Collector, tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        for number in range(1, 4):
            await ask(app)
            await eventually(lambda number=number: len(collector.requests) >= number)
    assert len(collector.connections) == 1


async def test_hanging_collector_delays_neither_calls_nor_shutdown(
    environment: pytest.MonkeyPatch, collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environment.setattr(sending, "CLOSE_SECONDS", 0.2)
    collector.going_on.clear()
    async with opened(tmp_path) as app:
        await ask(app)
        await asyncio.to_thread(collector.asked.wait, 30)
        for _ in range(20):
            assert not (await ask(app))["isError"]
        ending = time.monotonic()
    assert time.monotonic() - ending < sending.EXPORT_SECONDS, "the end is bounded by its own patience, not the collector's"
    assert not collector.spans


async def test_wrong_endpoint_setting_stops_the_start(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318")
    with pytest.raises(SettingError, match="OTEL_EXPORTER_OTLP_ENDPOINT: has to be an address of the form http:, https:"):
        async with opened(tmp_path):
            pass
