"""The figures of the runbooks, taken from the reports of the chaos runs: nobody copies them by hand."""

from __future__ import annotations

import re

from server.config.settings import ROOT

RUNBOOKS = "infra/RUNBOOKS.md"
REPORTS = {"chaos": "tests/chaos/report.md", "alarms": "tests/chaos/alarms.md"}
MARKER = re.compile(r"( *)<!-- (chaos|alarms): (.+?) -->\n.*\n")


def runbooks() -> str:
    """Returns the runbooks with the figures of each scenario after its marker. Raises KeyError for one that no report has."""
    found = {kind: _rows((ROOT / report).read_text("utf-8")) for kind, report in REPORTS.items()}

    def told(marker: re.Match[str]) -> str:
        indent, kind, name = marker.groups()
        words = (_as_chaos if kind == "chaos" else _as_alarms)(found[kind][name])
        return f"{indent}<!-- {kind}: {name} -->\n{indent}*{name}*: {words}\n"

    return MARKER.sub(told, (ROOT / RUNBOOKS).read_text("utf-8"))


def _rows(report: str) -> dict[str, dict[str, str]]:
    """Each row of the report's table by its first cell, with its cells by their heads."""
    heads, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in report.splitlines() if line[:1] == "|"
    ]
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows}


def _as_chaos(row: dict[str, str]) -> str:
    errors = "no errors" if row["errors"] == "–" else f"errors {row['errors']}"
    return (
        f"{row['calls']} calls, {row['client']} ms at the client (p50 / p99 / p99.9 / longest), {row['late']} late, "
        f"{row['usable']} usable, {errors}, well again after {row['recovery']} s."
    )


def _as_alarms(row: dict[str, str]) -> str:
    shares = f"{row['late']} late, {row['of no use']} of no use (machine stalled {row['stalled']})"
    return f"{shares}; pages: {row['pages']}; tickets: {row['tickets']}."
