"""The figures as Markdown, into tests/load/report.md between its marks."""

from __future__ import annotations

from pathlib import Path

from tests.load.open_loop.cells import _cells, _client, _counts, _listed, _machine, _ms, _table, bars_text
from tests.load.open_loop.measured import TURN_SECONDS
from tests.load.open_loop.on_stack import BACKENDS, OnStack
from tests.load.open_loop.soak import WARM_SHARE, Soak
from tests.load.open_loop.steps import KNEE, P99, Steps
from tests.load.results import Bar, percentile

REPORT = Path(__file__).resolve().parents[1] / "report.md"
LEAST_GOODPUT = 0.5
HEAD = (
    ("calls/s", "offered"),
    ("calls", "counted"),
    ("p50", "ms"),
    ("p99", "ms"),
    ("p99.9", "ms"),
    ("max", "ms"),
    ("in time", "with a result, of those due"),
    ("refused", "SERVER_BUSY"),
    ("live", ""),
    ("cache", ""),
    ("stale", ""),
    ("fallback", ""),
    ("degraded", ""),
    ("CPU ms a call", "server + Valkey, client"),
    ("RSS MB", "server + Valkey"),
    ("client late", "p99, ms"),
    ("others", "cores"),
)


def steps_section(steps: Steps, seconds: float) -> str:
    parts = [_machine(steps.measured), f"{seconds:g} s a rate. {KNEE}"]
    found = f"**Knee: {steps.knee:g} calls/s.**" if steps.knee else "**No rate was fine.**"
    beyond = [f"{step.rate:g} calls/s: {steps.why_beyond(step)}" for step in steps.beyond]
    parts.append(f"{found} Beyond it: {'; '.join(beyond) or 'not reached'}.")
    rows = [_cells(step) for step in steps.measured]
    if steps.overload:
        rows.append([f"{steps.overload.rate:g} (twice the knee)", *_cells(steps.overload)[1:]])
    parts.append(_table([" ".join(filter(None, (name, f"({unit})" if unit else ""))) for name, unit in HEAD], rows))
    failures = [f"{step.rate:g} calls/s: {_listed(step.failures)}" for step in steps.measured if step.failures]
    if failures:
        parts.append(f"Answers that were neither a result nor a refusal for being busy: {'; '.join(failures)}.")
    if steps.overload:
        parts.append(_overload(steps))
    parts.append("![Latency percentiles by offered rate](open_loop_steps.svg)")
    return "\n\n".join(parts)


def overload_bars(steps: Steps) -> list[Bar]:
    """Beyond the knee: in time, refused in a way that an agent understands, and as much work done as before."""
    over, knee = steps.overload, steps.fine[-1] if steps.fine else None
    if over is None or knee is None:
        return []
    told = sum(row.outcome == "SERVER_BUSY" and (row.retry_after_ms or 0) > 0 for row in over.refusals)
    bars = [
        Bar("twice the knee: latest answer, s", over.worst_ms / 1000, TURN_SECONDS, at_least=False),
        Bar("twice the knee: goodput / goodput at the knee", over.goodput / knee.goodput, LEAST_GOODPUT, at_least=True),
    ]
    if over.refusals:
        share = told / len(over.refusals)
        bars.append(Bar("twice the knee: refusals that say when to come back", share, 1.0, at_least=True))
    return bars


def _overload(steps: Steps) -> str:
    over = steps.overload
    assert over is not None
    lines = [f"**At twice the knee** {over.goodput:.0f} calls/s got their result in time."]
    if over.refusals:
        latencies = [1000 * row.latency for row in over.refusals]
        said = sorted({str(row.retry_after_ms) for row in over.refusals if row.retry_after_ms})
        lines.append(
            f"{len(over.refusals)} were refused, after {percentile(latencies, 0.5):.0f} ms (p50) and "
            f"{percentile(latencies, 0.99):.0f} ms (p99), with `retry_after_ms` {', '.join(said) or 'missing'}."
        )
    if over.failures:
        lines.append(f"Other failures: {_listed(over.failures)}.")
    return " ".join(lines) + "\n\n" + bars_text(overload_bars(steps))


def soak_section(soak: Soak) -> str:
    first, last, run = soak.settled[0], soak.samples[-1], soak.measured
    minutes = ", ".join(f"{ms:.0f}" for ms in soak.p99_by_minute())
    facts = (
        f"{soak.minutes:g} minutes at {run.rate:g} calls/s, half the knee, after {WARM_SHARE * soak.minutes:g} in which the bounded "
        f"caches fill: {len(run.rows)} calls in all, p50 {_ms(run, 0.5)} ms, "
        f"p99 {_ms(run, P99)} ms, p99.9 {_ms(run, 0.999)} ms; p99 by minute {minutes or '-'} ms (the client was {run.late_ms:.1f} ms late, p99). "
        f"The server's RSS was {first.rss:.1f} MB after the warm-up and "
        f"{last.rss:.1f} MB at the end ({soak.halves[0]:+.2f} MB a minute in the first half of them, {soak.halves[1]:+.2f} in the "
        f"last), with {last.threads} threads and {last.files} open files. Valkey used "
        f"{first.valkey_used:.1f} MB in {first.valkey_keys} keys, then {last.valkey_used:.1f} MB in {last.valkey_keys}: every "
        "new search is kept for a day, every session for half an hour, and beyond 256 MB the oldest go."
    )
    parts = [_machine([run]), facts, bars_text(soak.bars()), "![Memory over time](soak_memory.svg)"]
    if run.failures or run.refusals:
        parts.insert(2, f"Not answered with a result: {_counts(run)}.")
    return "\n\n".join(parts)


def stack_section(run: OnStack) -> str:
    measured = run.measured
    head = ["", "requests a turn", "own p50 (ms)", "own p99 (ms)", "CPU ms a call"]
    rows = [
        [
            name,
            f"{run.requests_a_turn(name):.1f}",
            f"{run.backend_ms(name, 0.5):.1f}",
            f"{run.backend_ms(name, 0.99):.1f}",
            f"{measured.cpu_a_call(name):.2f}" if name in measured.cpu_ms else "-",
        ]
        for name in BACKENDS
    ]
    rows.append(["together", "", "", f"{run.backends_p99_ms:.1f}", ""])
    rows.append(["together, for each call that asks them", "", "", f"{run.backends_p99_ms_by_call:.1f}", ""])
    rows.append(["server", "", "", "", f"{measured.cpu_a_call('server'):.2f}"])
    rows.append(["proxies, client", "", "", "", f"{measured.cpu_a_call('proxies'):.2f}, {_client(measured):.2f}"])
    turns = [1000 * each for each in measured.turns]
    facts = (
        f"{measured.rate:g} calls/s for {measured.seconds:.0f} s: {len(measured.turns)} turns of three calls, p50 "
        f"{percentile(turns, 0.5):.0f} ms, p99 {run.turn_p99_ms:.0f} ms, longest {max(turns):.0f} ms; a call's p50 "
        f"{_ms(measured, 0.5)} ms, p99 {_ms(measured, P99)} ms. {measured.share('live'):.2%} of the calls were answered live, "
        f"{measured.degraded:.2%} degraded. The machine was busy with {measured.machine_cores:.2f} cores in all."
    )
    parts = [_machine([measured]), facts, _table(head, rows), bars_text(run.bars())]
    if measured.failures or measured.refusals:
        parts.insert(2, f"Not answered with a result: {_counts(measured)}.")
    return "\n\n".join([*parts, "![Turns on the real stack](open_loop_stack.svg)"])


def write(section: str, text: str) -> None:
    """Puts a section between its marks in report.md; the others stay."""
    begin, end = f"<!-- {section} -->\n", f"<!-- end of {section} -->"
    head, found, rest = REPORT.read_text("utf-8").partition(begin)
    _, also_found, tail = rest.partition(end)
    if not (found and also_found):
        raise ValueError(f"{REPORT.name} has no marks for {section!r}")
    REPORT.write_text(f"{head}{begin}\n{text}\n\n{end}{tail}", "utf-8")
