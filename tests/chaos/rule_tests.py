"""Prometheus's rules over what was recorded, as promtool evaluates them: half a day of health, then the fault for an hour."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tests.chaos.recorded import Recording, Series

BEFORE, FAULT, AT = 12 * 60, 60, 45
"""Minutes; `AT` are those into the fault at which it is asked who is paged."""
COUNTERS = ("manga_service_level_total", "manga_audit_lines_dropped_total")
READY = "manga_ready"
GAUGES = ("manga_breaker_state", READY)
PAGING = 'count by (alertname, burn, backend) (ALERTS{alertstate="firing",severity="page"})'


def rule_test(name: str, healthy: Recording, fault: Recording, pages: Collection[str]) -> dict[str, Any]:
    """Returns one of a file for `promtool test rules`."""
    expected = [{"labels": _labels(page), "value": 1} for page in sorted(pages)]
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": series, "values": values} for series, values in _series(healthy, fault)],
        "promql_expr_test": [{"expr": PAGING, "eval_time": f"{BEFORE + AT}m", "exp_samples": expected}],
    }


def _labels(page: str) -> str:
    alarm, _, which = page.partition("-")
    label = "burn" if "Burn" in alarm else "backend" if which or alarm == "MangaRedisAway" else None
    value = which or "redis"
    return f'{{alertname="{alarm}"' + (f',{label}="{value}"' if label else "") + "}"


def _series(healthy: Recording, fault: Recording) -> Iterator[tuple[str, str]]:
    for series in {**healthy.last, **fault.last}:
        name, labels = series
        stated = ",".join(f'{label}="{value}"' for label, value in (*labels, ("job", "manga-tools")))
        text = f"{name}{{{stated}}}"
        if name in COUNTERS:
            good = ("verdict", "good") in labels
            well, ill = _per_minute(healthy, series) if good else 0.0, _per_minute(fault, series)
            yield text, f"0+{well:.3f}x{BEFORE} {well * BEFORE + ill:.3f}+{ill:.3f}x{FAULT}"
        elif name in GAUGES:
            well, ill = float(name == READY), fault.last.get(series, 0.0)
            yield text, f"{well:g}x{BEFORE} {ill:g}x{FAULT}"


def _per_minute(each: Recording, series: Series) -> float:
    return (each.last.get(series, 0.0) - each.first.get(series, 0.0)) * 60 / each.seconds
