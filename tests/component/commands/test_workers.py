"""The messages between the processes of one server, and their merged metrics and readiness."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import CollectorRegistry
from starlette.requests import Request

from server.commands.doctor.checks import diagnose_workers
from server.commands.workers.supervise import COUNTS, MergedMetrics, Peers, SharedProbes, read_rows
from server.commands.workers.supervisor import open_channel
from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.telemetry.metrics import Metrics
from session.redis.embedded import Valkey
from session.resilience.breaker import LONGEST_PAUSE_SECONDS, STEADY_SECONDS, Backoff
from session.resilience.deadline import Deadline
from tests.support.process import until
from tools.store.models import Health

PATIENCE = 30.0


def registry(calls: float, seconds: float, streams: float, ready: float) -> CollectorRegistry:
    own = CollectorRegistry()
    Counter("manga_calls", "Calls.", ["tool"], registry=own).labels("search").inc(calls)
    Histogram("manga_call_seconds", "Time.", buckets=(0.1, 1.0), registry=own).observe(seconds)
    Gauge("manga_sse_streams", "Streams.", registry=own).set(streams)
    Gauge("manga_ready", "Ready.", registry=own).set(ready)
    Gauge("manga_breaker_state", "Breakers.", ["backend"], registry=own).labels("stock").set(2 * ready)
    return own


def values(text: bytes) -> dict[str, float]:
    """By name and labels."""
    return {
        f"{each.name}{each.labels or ''}": each.value
        for family in text_string_to_metric_families(text.decode())
        for each in family.samples
        if not each.name.endswith("_created")
    }


def test_merged_metrics_sum_counters_and_take_the_worst_state() -> None:
    own = registry(3, 0.05, 1, 1)
    processes = json.loads(json.dumps([read_rows(own), read_rows(registry(4, 0.5, 2, 0))]))
    assert values(generate_latest(MergedMetrics(own, processes))) == {
        "manga_calls_total{'tool': 'search'}": 7,
        "manga_call_seconds_bucket{'le': '0.1'}": 1,
        "manga_call_seconds_bucket{'le': '1.0'}": 2,
        "manga_call_seconds_bucket{'le': '+Inf'}": 2,
        "manga_call_seconds_count": 2,
        "manga_call_seconds_sum": 0.55,
        "manga_sse_streams": 3,
        "manga_ready": 0,
        "manga_breaker_state{'backend': 'stock'}": 2,
    }


def test_restarted_worker_keeps_counters_and_loses_gauges_of_its_predecessor() -> None:
    own, before = registry(1, 0.05, 0, 1), registry(3, 0.05, 5, 1)
    told = values(generate_latest(MergedMetrics(own, [read_rows(own), read_rows(before, COUNTS)])))
    assert told["manga_calls_total{'tool': 'search'}"] == 4
    assert told["manga_sse_streams"] == 0


def test_restart_pauses_grow_after_early_ends_and_reset_after_a_steady_run() -> None:
    backoff = Backoff()
    assert [backoff.pause_after(1.0) for _ in range(4)] == [0.0, 0.5, 1.0, 2.0]
    assert [backoff.pause_after(1.0) for _ in range(20)][-1] == LONGEST_PAUSE_SECONDS
    assert backoff.pause_after(STEADY_SECONDS) == 0.0


def test_handed_over_socket_still_has_the_bytes_sent_before() -> None:
    above, below = open_channel()
    client, accepted = socket.socketpair()
    with client, closing(above), closing(below):
        client.send(b"hello")
        with accepted:
            assert above.send_connection(accepted)
        taken = below.receive_connection()
        assert taken is not None
        with taken:
            assert taken.recv(10) == b"hello"
        assert below.receive_connection() is None, "there is no second one"


def test_latest_of_several_reports_counts_and_a_closed_channel_raises_eof() -> None:
    above, below = open_channel()
    assert above.receive_report() is None
    for connections in range(200):
        below.send_report(takes=True, connections=connections)
    heard = [report for _ in range(10) if (report := above.receive_report()) is not None]
    assert heard[-1] == (True, 199)
    above.close()
    with pytest.raises(EOFError):
        below.receive_connection()
    below.send_report(takes=True, connections=1)  # nobody is there, which is no failure
    below.close()


@pytest.mark.parametrize(("workers", "state"), [(1, "ok"), (2, "ok"), (3, "degraded")])
def test_doctor_reports_more_workers_than_processors(workers: int, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert diagnose_workers(workers).state == state


class Two:
    """The probes of two workers in one process, each with metrics of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lifecycles = [Lifecycle(), Lifecycle()]
        self.metrics = [Metrics(), Metrics()]
        self.health = [Health(True), Health(True)]
        self.peers = [Peers(folder, number, 2) for number in (1, 2)]
        self.probes = [self._probes(each) for each in (0, 1)]

    def _probes(self, which: int) -> SharedProbes:
        async def stock(deadline: Deadline) -> Health:
            return self.health[which]

        dependencies = Dependencies({"stock": (stock, None)})
        return SharedProbes(self.lifecycles[which], dependencies, self.metrics[which], self.peers[which])

    async def refusals(self) -> float:
        body = bytes((await self.probes[0].metrics(Request({"type": "http"}))).body)
        return values(body).get("manga_refusals_total{'kind': 'test'}", 0.0)


async def test_either_worker_answers_metrics_and_readiness_for_both(tmp_path: Path) -> None:
    two = Two(tmp_path)
    async with two.peers[0].answering(), two.peers[1].answering():
        for each in two.metrics:
            each.count_refusal("test")
        assert await two.refusals() == 2
        two.health[1] = Health(False, "away")
        told = await two.probes[0].readiness()
        assert (told["status"], told["dependencies"]["stock"]["state"]) == ("degraded", "down")
        assert told["dependencies"]["workers"] == told["dependencies"]["workers"] | {"state": "ok", "detail": "2 of 2 serve"}
        two.lifecycles[0].draining = True
        assert (await two.probes[0].readiness())["status"] == "draining"


async def test_counters_of_a_dead_worker_are_kept(tmp_path: Path) -> None:
    """They are kept while it is down and after its replacement: a falling sum would look like a restart."""
    two = Two(tmp_path)
    two.metrics[1].count_refusal("test")
    two.metrics[0].count_refusal("test")
    async with two.peers[0].answering():
        async with two.peers[1].answering():
            assert await two.refusals() == 2
        assert await two.refusals() == 2
        assert (await two.probes[0].readiness())["dependencies"]["workers"]["detail"] == "1 of 2 serve"
        two.metrics[1], two.peers[1] = Metrics(), Peers(tmp_path, 2, 2)
        two.probes[1] = two._probes(1)
        two.metrics[1].count_refusal("test")
        async with two.peers[1].answering():
            assert await two.refusals() == 3
            assert await two.refusals() == 3


async def test_reload_asked_of_one_worker_reaches_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from server.packages.packages import PackageReport, ReloadReport, ask_to_reload

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked: list[int] = []

    def reloading(number: int) -> Any:
        async def reload() -> ReloadReport:
            asked.append(number)
            return ReloadReport([PackageReport("one", "1", refused="it is broken" if number == 2 else None)])

        return reload

    peers = [Peers(tmp_path, number, 2) for number in (1, 2)]
    async with peers[0].answering(), peers[1].answering(), asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.answer_reloads("127.0.0.1", 1, reloading(each.number))) for each in peers]

        async def there() -> bool:
            return any(tmp_path.rglob("127.0.0.1-1.sock"))

        await until(there, PATIENCE, "the socket is there")
        report = await ask_to_reload("127.0.0.1", 1)
        for task in tasks:
            task.cancel()
    assert sorted(asked) == [1, 2]
    assert not report.well, "what one of them refuses is told"


async def test_reload_without_an_answer_of_any_worker_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from server.commands.workers import supervise as module
    from server.packages.packages import ReloadReport, ask_to_reload

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(module, "RELOAD_SECONDS", 0.1)

    async def never() -> ReloadReport:
        await asyncio.get_running_loop().create_future()
        raise AssertionError("it is cancelled")

    task = asyncio.create_task(Peers(tmp_path, 1, 2).answer_reloads("127.0.0.1", 1, never))

    async def there() -> bool:
        return any(tmp_path.rglob("127.0.0.1-1.sock"))

    await until(there, PATIENCE, "the socket is there")
    report = await ask_to_reload("127.0.0.1", 1)
    task.cancel()
    assert (report.well, report.problem) == (False, module.NOBODY)


async def test_dead_valkey_is_replaced_on_the_same_socket(tmp_path: Path) -> None:
    with closing(Valkey(tmp_path)) as valkey:
        await until(valkey.has_started, PATIENCE, "it is started")
        assert valkey.socket == tmp_path / "valkey.sock"
        first = valkey._process.pid
        os.kill(first, signal.SIGKILL)

        async def replaced() -> bool:
            valkey.restart_if_dead()
            return valkey._process.pid != first and await _answers(valkey.socket)

        await until(replaced, PATIENCE, "another answers")


async def _answers(path: Path) -> bool:
    try:
        reader, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return False
    writer.write(b"PING\r\n")
    answer = await reader.readline()
    writer.close()
    return answer == b"+PONG\r\n"
