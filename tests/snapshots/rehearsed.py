"""The figures of the runbooks, taken from the reports of the chaos runs: nobody copies them by hand."""

from __future__ import annotations

import re

from server.config.settings import ROOT

RUNBOOKS = "infra/RUNBOOKS.md"
REPORTS = {"played": ("tests/chaos/faults.tsv", "\t"), "held for an hour": ("tests/chaos/report.md", "|")}
MARKER = re.compile(r"\*([^*\n]+)\*, (played|held for an hour): .*")


def runbooks() -> str:
    """Returns the runbooks with the figures of each scenario that they name. Raises KeyError for one that no report has."""
    found = {kind: _rows((ROOT / report).read_text("utf-8"), mark) for kind, (report, mark) in REPORTS.items()}

    def state_figures(marker: re.Match[str]) -> str:
        name, kind = marker.groups()
        return f"*{name}*, {kind}: {(_as_chaos if kind == 'played' else _as_alarms)(found[kind][name])}"

    return MARKER.sub(state_figures, (ROOT / RUNBOOKS).read_text("utf-8"))


def _rows(report: str, mark: str) -> dict[str, dict[str, str]]:
    """Each row of the report's table by its first cell, with its cells by their heads; `mark` stands between cells."""
    lines = [line.strip("|") for line in report.splitlines() if mark in line and not line.startswith("| ---")]
    heads, *rows = [[cell.strip() for cell in line.split(mark)] for line in lines]
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows}


def _as_chaos(row: dict[str, str]) -> str:
    errors = "no errors" if row["errors"] == "–" else f"errors {row['errors']}"
    return (
        f"{row['calls']} calls, {row['client']} ms, {row['late']} late, "
        f"{row['usable']} usable, {errors}, well again after {row['recovery']} s."
    )


def _as_alarms(row: dict[str, str]) -> str:
    shares = f"{row['late']} late, {row['of no use']} of no use (machine stalled {row['stalled']})"
    return f"{shares}; pages: {row['pages']}; tickets: {row['tickets']}."
