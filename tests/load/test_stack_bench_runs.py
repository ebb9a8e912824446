"""The benchmark on the real stack still runs: turns are as promised, and each call asks what it should. Untimed."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import pytest

from session.keys import PREFIX, relay_alive, snapshot
from tests.load import command, stack_report
from tests.load.open_loop.report import REPORT
from tests.load.results import Bar
from tests.load.stack import KINDS, Plan, measure
from tests.load.stack_results import Load, Memory, Results, Sample, Trips
from tests.load.stack_servers import ALIVE, APART, not_delivered
from tests.load.stack_taps import Taps
from tests.load.stack_turns import CACHED, CALLS, NEW, UNCACHED, never_asked
from tests.stack.fixtures import dynamodb_endpoint, opensearch_url  # noqa: F401
from tests.stack.redis_servers import missing
from tests.stack.require import require
from tests.support.valkey import private_valkey

pytestmark = [pytest.mark.alone, pytest.mark.timeout(300)]  # it may be the first to start OpenSearch
NAMES = ("OpenSearch", "DynamoDB", "Redis", "Bedrock", "profile")


@pytest.fixture(scope="module")
def results(opensearch_url: str, dynamodb_endpoint: str) -> Results:  # noqa: F811
    require("Redis", missing())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MANGA_STACK_OPENSEARCH", opensearch_url)
        patch.setenv("MANGA_STACK_DYNAMODB", dynamodb_endpoint)
        return asyncio.run(measure(Plan.short()))


def test_every_kind_of_turn_is_answered(results: Results) -> None:
    """With one client and with several; and mostly as promised, where no more is asked than can be done."""
    assert set(results.samples) == {(kind, load) for kind in KINDS for load in Plan.short().loads}
    for (kind, load), sample in results.samples.items():
        assert sample.turns, f"{kind}, {load}: no turn"
        assert not load.bearable or sample.wrong <= sample.calls / 4, sample.first_wrong


def test_a_cached_turn_asks_redis_alone_and_twice_a_call(results: Results) -> None:
    """Stock may have been asked for anew, since it is good for five seconds only."""
    for call in CALLS:
        a_call = results.trips[CACHED, call].a_call
        assert a_call["Redis"] == pytest.approx(2, abs=0.2)
        assert a_call["OpenSearch"] == a_call["Bedrock"] == 0
        assert a_call["DynamoDB"] < 1


def test_an_uncached_turn_asks_every_backend_that_its_calls_need(results: Results) -> None:
    """Otherwise something was remembered after all."""
    search, stock, details = (results.trips[UNCACHED, call].a_call for call in CALLS)
    assert search["OpenSearch"] >= 2
    assert search["Bedrock"] == 1
    assert details["OpenSearch"] >= 1
    for a_call in (search, stock, details):
        assert a_call["DynamoDB"] == pytest.approx(1, abs=0.2)
        assert a_call["Redis"] <= 2.2  # a third trip would make 3
    assert results.trips[NEW, "search"].a_call["Bedrock"] == 1


def test_memory_is_told_for_streams_and_sessions(results: Results) -> None:
    memory = results.memory
    assert memory is not None
    assert 0 < memory.ready_mb <= memory.peak_mb
    assert memory.session_bytes > 100


def test_the_table_has_a_row_for_every_call_of_every_kind(results: Results) -> None:
    """What a person reads."""
    text = stack_report.table(results, 0.5, 1)
    rows = [line.split() for line in text.splitlines()]
    for kind in KINDS:
        turns = [row[1:-7] for row in rows if row[:1] == [kind] and "turn" in row]
        assert turns == [["1", "turn"], ["4", "thinking", "turn"]]
        assert [row[1] for row in rows if row[:1] == [kind] and len(row) == 10 and row[1] in CALLS] == list(CALLS)
    assert "most RSS in MB" in text


def test_the_table_that_is_kept_is_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "FIGURES", tmp_path)
    for text in ("first\n", "second\n"):
        command.told(text, Results(), argparse.Namespace(write=True, bars=False), "stack.txt")
    assert (tmp_path / "stack.txt").read_text("utf-8") == "second\n"
    assert (REPORT.parent / "figures/stack.txt").exists(), "the report links it"


def test_time_in_which_two_backends_were_at_work_counts_once() -> None:
    """A call of 10 ms; two trips overlap, one goes on after the answer, one is of another call, and nobody waits for a
    profile."""
    trips = {
        "Redis": [[0.001, 0.003], [0.002, 0.005]],
        "OpenSearch": [[0.009, 0.02], [0.5, 0.6]],
        "profile": [[0.006, 0.008]],
    }
    found = Trips.of([[0.0, 0.010]], trips)
    assert found.a_call == dict.fromkeys(NAMES, 0) | {"Redis": 2, "OpenSearch": 1, "profile": 1}
    assert found.waiting_ms == pytest.approx(5.0)
    assert found.own_ms == pytest.approx(5.0)


def test_bars_are_missed_by_memory_late_turns_and_wrong_answers() -> None:
    """The exit status with `--bars` hangs on it."""
    slow = Sample(turns=[3.0] * 100, seconds_of={call: [1.0] * 100 for call in CALLS}, seconds=300.0, wrong=30)
    results = Results(
        samples={(UNCACHED, Load(20, 1.0)): slow, (UNCACHED, Load(20)): slow}, memory=Memory(200, 10_000, peak_mb=200.0)
    )
    missed: list[Bar] = results.missed()
    assert [bar.name for bar in missed] == [
        "most RSS in MB with 200 clients that each take turns",
        "p99 of an uncached turn in ms, clients: 20 thinking",
        "p99 of an uncached turn in ms, clients: 20",
        "% of answers not as promised, uncached, clients: 20 thinking",
    ]


def test_no_query_of_an_uncached_turn_comes_twice() -> None:
    """Neither within a client nor from another one or another run."""
    queries = [never_asked(run, client, 4) for run in ("a", "b") for client in range(4)]
    asked = [next(each) for each in queries for _ in range(100)]
    assert len(set(asked)) == len(asked)


def test_the_server_is_measured_without_what_only_the_tests_install() -> None:
    hidden = not_delivered()
    assert {"pytest", "hypothesis", "mypy"} <= set(hidden)
    needed = {"mcp", "uvicorn", "numpy", "aiobotocore", "opensearchpy", "server", "tools", "session", "tests"}
    assert not needed & set(hidden)


async def test_what_a_replica_asks_redis_by_itself_is_no_trip_of_a_call() -> None:
    """The pings of its channel, that it lives, what the fleet shares: a slow call would have each that falls into it."""
    taps = Taps()
    with private_valkey() as redis:
        port = (await taps.tap("Redis", "127.0.0.1", redis.port, APART["Redis"]))["port"]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        own = ("PING", f"SET {relay_alive('a')} 1", f"GET {PREFIX}:fleet:1:key", f"GET {snapshot('stock:0', 'a')}")
        for command in (*own, "GET manga:mcp:session:{s}:calls"):
            writer.write(command.encode() + b"\r\n")
            await reader.readline()
        writer.close()
        for server in taps._servers:
            server.close()
    assert {name: len(trips) for name, trips in (await taps.trips()).items()} == {"Redis": 1, ALIVE: len(own)}
