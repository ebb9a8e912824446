"""The figures as text, for a terminal and for a file in figures/."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.load.results import Bar, Key, Results
from tests.load.variants import VARIANTS

FIGURES = Path(__file__).with_name("figures")
HEAD = ("", "clients", "calls/s", "p50 ms", "p95 ms", "p99 ms", "CPU ms", "Valkey", "client", "wrong")


def table(results: Results, seconds: float, rounds: int) -> str:
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {rounds} rounds of {seconds} s for each, answer of {results.answer_bytes} bytes "
        "(JSON, sent twice: as text and as structured content)",
        machine(),
        "",
    ]
    lines += [f"{variant.key:2}  {variant.about}" for variant in VARIANTS if variant.key in results.rss_mb]
    lines += ["", _row(HEAD)]
    lines += [_row(_cells(results, key)) for key in sorted(results.samples, key=lambda key: key[1])]
    lines += ["", "RSS MB: " + ", ".join(f"{k} {_rss(results, k)}" for k in results.rss_mb)]
    for key, (reads, commands) in results.commands.items():
        lines.append(f"Redis as Valkey counts it, {key}: {reads:.2f} reads and {commands:.2f} commands a call")
    if growth := results.growth:
        lines.append(f"age of a session, p50 ms: calls 1-100 {growth.young_ms:.2f}, calls 901-1000 {growth.old_ms:.2f}")
        lines.append(f"sessions alive, p50 ms: 10 {growth.few_ms:.2f}, {growth.many} {growth.many_ms:.2f}")
    lines += ["", *map(_bar, results.bars())]
    return "\n".join(lines) + "\n"


def machine() -> str:
    models = (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name"))
    packages = ", ".join(f"{name} {version(name)}" for name in ("mcp", "uvicorn", "starlette", "pydantic", "redis"))
    return f"{os.cpu_count()} cores ({next(models, platform.machine())}), Python {platform.python_version()}, {packages}"


def parsed(text: str) -> Any:
    return json.loads(text)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cells(results: Results, key: Key) -> tuple[str, ...]:
    latencies = (f"{results.latency_ms(key, share):.2f}" for share in (0.5, 0.95, 0.99))
    sample = results.samples[key][0]
    return (
        key[0],
        str(key[1]),
        f"{results.median(key, 'calls_per_second'):.0f}",
        *latencies,
        f"{results.median(key, 'cpu_ms'):.3f}",
        f"{results.median(key, 'valkey_cpu_ms'):.3f}" if sample.valkey_cpu_ms is not None else "-",
        f"{results.median(key, 'client_cpu_ms'):.3f}" if sample.client_cpu_ms is not None else "-",
        str(sum(each.wrong for each in results.samples[key])),
    )


def _row(cells: tuple[str, ...]) -> str:
    return f"{cells[0]:3}" + "".join(f"{cell:>9}" for cell in cells[1:])


def _rss(results: Results, key: str) -> str:
    own = f"{results.rss_mb[key]:.0f}"
    return f"{own} + Valkey {results.valkey_rss_mb[key]:.0f}" if key in results.valkey_rss_mb else own


def _bar(bar: Bar) -> str:
    relation, kind = ">=" if bar.at_least else "<=", "aim" if bar.aim else "bar"
    return f"{'met   ' if bar.met else 'MISSED'}  {bar.name}: {bar.value:.2f} ({kind} {relation} {bar.limit})"


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text("utf-8").splitlines() if file.exists() else []
