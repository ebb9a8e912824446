"""The figures of the real stack as text, for a terminal and for a file in figures/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from server.commands.serve import GARBAGE
from tests.load.report import machine
from tests.load.results import Bar, percentile
from tests.load.stack_bedrock import LATENCY_SECONDS
from tests.load.stack_results import Memory, Results, Sample
from tests.load.stack_servers import BEHIND, NAMES
from tests.load.stack_turns import CACHED, CALLS, NEW, UNCACHED

ABOUT = {
    CACHED: "the same eight queries, again and again",
    NEW: "queries with words that were never asked",
    UNCACHED: "the same, of a server that keeps nothing",
}
TIMES = ("", "clients", "", "p50 ms", "p95 ms", "p99 ms", "turns/s", "calls/s", "CPU ms", "wrong")
COLLECTOR = ("", "clients", "young", "middle", "old", "% of time", "longest ms", "kept/call", "freed/call")
TRIPS = ("", "", *NAMES, BEHIND, "ms", "waiting", "own")


def table(results: Results, seconds: float, rounds: int) -> str:
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {rounds} rounds of {seconds} s for each; Bedrock's place takes "
        f"{LATENCY_SECONDS * 1000:.0f} ms for a text",
        machine(),
        "",
        *(f"{kind:9} {about}" for kind, about in ABOUT.items()),
        "",
        "a turn and its three calls",
        _row(TIMES),
    ]
    for (kind, load), sample in results.samples.items():
        lines += _times(kind, str(load), sample)
    lines += ["", "the garbage collector of the server meanwhile", _row(COLLECTOR)]
    lines += [_collected(kind, str(load), sample) for (kind, load), sample in results.samples.items()]
    lines += ["", "round trips a call, and ms of it with and without a backend at work: 1 client, through pass-throughs"]
    lines.append(_row(TRIPS))
    for (kind, call), trips in results.trips.items():
        counts = (f"{trips.a_call[name]:.2f}" for name in (*NAMES, BEHIND))
        lines.append(_row((kind, call, *counts, f"{trips.ms:.2f}", f"{trips.waiting_ms:.2f}", f"{trips.own_ms:.2f}")))
    if results.memory is not None:
        lines += ["", *_memory(results.memory)]
    if results.end_mb:
        lines.append("RSS at the end: " + ", ".join(f"{kind} {mb:.0f} MB" for kind, mb in results.end_mb.items()))
    lines += ["", *map(_bar, results.bars())]
    lines += [f"first answer that was not as promised: {first[:300]}" for first in _first_wrong(results)]
    return "\n".join(lines) + "\n"


def _times(kind: str, clients: str, sample: Sample) -> Iterator[str]:
    rates = (f"{len(sample.turns) / sample.seconds:.0f}", f"{sample.calls / sample.seconds:.0f}")
    yield _row(
        (
            kind,
            clients,
            "turn",
            *_latencies(sample.turns),
            *rates,
            f"{sample.cpu_ms / sample.calls:.2f}",
            str(sample.wrong),
        )
    )
    for call in CALLS:
        yield _row(("", "", call, *_latencies(sample.seconds_of[call])))


def _collected(kind: str, clients: str, sample: Sample) -> str:
    """A look at the young comes after so many objects more than were freed at once: these are what calls keep."""
    collected, calls = sample.collected, max(1, sample.calls)
    share, longest = f"{100 * collected.seconds / sample.seconds:.2f}", f"{collected.longest * 1000:.1f}"
    kept, freed = sum(collected.looks) * GARBAGE[0] / calls, collected.freed / calls
    return _row((kind, clients, *map(str, collected.looks), share, longest, f"{kept:.0f}", f"{freed:.1f}"))


def _latencies(seconds: list[float]) -> tuple[str, ...]:
    return tuple(f"{percentile(seconds, share) * 1000:.1f}" for share in (0.5, 0.95, 0.99))


def _memory(memory: Memory) -> Iterator[str]:
    yield (
        f"RSS: ready {memory.ready_mb:.0f} MB, after some turns {memory.used_mb:.0f}, with {memory.streams} open streams "
        f"{memory.open_mb:.0f} ({memory.stream_kb:.0f} KB a stream), after turns on each {memory.called_mb:.0f}, "
        f"at most {memory.peak_mb:.0f}"
    )
    yield (
        f"{memory.sessions} sessions of a turn each: Redis {memory.redis_bytes / 2**20:.1f} MB more "
        f"({memory.session_bytes:.0f} bytes a session), server {memory.before_sessions_mb:.0f} -> "
        f"{memory.after_sessions_mb:.0f} MB ({memory.session_rss_bytes:.0f} bytes a session)"
    )
    yield f"of the answers to all these turns {memory.wrong} were not as promised"


def _first_wrong(results: Results) -> Iterator[str]:
    for sample in (*results.samples.values(), results.memory):
        if sample is not None and sample.first_wrong:
            yield sample.first_wrong


def _row(cells: Sequence[str]) -> str:
    return f"{cells[0]:9}" + "".join(f"{cell:>11}" for cell in cells[1:])


def _bar(bar: Bar) -> str:
    return f"{'met   ' if bar.met else 'MISSED'}  {bar.name}: {bar.value:.2f} (bar {'>=' if bar.at_least else '<='} {bar.limit:g})"
