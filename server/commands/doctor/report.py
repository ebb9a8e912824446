"""What was found, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """`latency_ms` is what the whole examination took, connecting included. `where` shows no secret."""

    name: str
    where: str
    state: str
    latency_ms: float
    version: str | None
    detail: str
    remedy: str | None


def as_table(findings: Sequence[Finding], well: bool, seconds: float) -> str:
    rows = [("dependency", "where", "state", "ms", "version", "what to know"), *map(_row, findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    remedies = [f"{each.name}: {each.remedy}" for each in findings if each.remedy]
    ending = f"{'all well' if well else 'not well'}, in {seconds:.1f} s"
    return "\n".join([*lines, "", *(["what to do", *(f"  {line}" for line in remedies), ""] if remedies else []), ending])


def _row(finding: Finding) -> tuple[str, ...]:
    latency = f"{finding.latency_ms:.1f}"
    return (finding.name, finding.where, finding.state, latency, finding.version or "", finding.detail)


def as_json(findings: Sequence[Finding], well: bool, seconds: float) -> str:
    report: Mapping[str, Any] = {
        "well": well,
        "seconds": round(seconds, 2),
        "dependencies": [asdict(each) for each in findings],
    }
    return json.dumps(report, ensure_ascii=False, indent=2)
