"""Figures of a run as the cells and lines of a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from tests.load.open_loop.measured import BUSY, Measured
from tests.load.open_loop.steps import P99
from tests.load.report import machine
from tests.load.results import Bar


def bars_text(bars: Iterable[Bar]) -> str:
    return _table(["", "measured", "bar"], [[b.name, f"{b.value:.3g}", _relation(b)] for b in bars])


def _relation(bar: Bar) -> str:
    return f"{'met' if bar.met else '**missed**'} ({'at least' if bar.at_least else 'at most'} {bar.limit:.4g})"


def _machine(runs: Sequence[Measured]) -> str:
    loads = [run.load_average for run in runs]
    others = [run.others_cores for run in runs]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {machine()}. Load average {min(loads):.1f} to {max(loads):.1f}; processes that have "
        f"no part in this used {min(others):.2f} to {max(others):.2f} cores."
    )


def _cells(step: Measured) -> list[str]:
    cpu = " + ".join(f"{step.cpu_a_call(name):.2f}" for name in step.cpu_ms)
    return [
        f"{step.rate:g}",
        f"{len(step.rows)}",
        *(_ms(step, share) for share in (0.5, P99, 0.999)),
        f"{step.worst_ms:.0f}",
        f"{step.achieved:.1%}",
        f"{step.share(*BUSY):.1%}",
        *(f"{step.share(source):.0%}" for source in ("live", "cache", "stale", "fallback")),
        f"{step.degraded:.1%}",
        f"{cpu}, {_client(step):.2f}",
        " + ".join(f"{mb:.0f}" for mb in step.rss_mb.values()),
        f"{step.late_ms:.1f}",
        f"{step.others_cores:.2f}",
    ]


def _client(run: Measured) -> float:
    return run.client_cpu_ms / max(1, run.answers)


def _ms(run: Measured, share: float) -> str:
    ms = run.ms(share)
    return "-" if ms is None else f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"


def _counts(run: Measured) -> str:
    return _listed(run.failures | {name: run.outcomes[name] for name in BUSY if run.outcomes[name]})


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
