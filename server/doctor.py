"""`python -m server doctor`: every dependency, what is wrong with it, and what to do."""

from __future__ import annotations

import time
from dataclasses import dataclass

from server.settings import Settings
from server.wiring import open_app

ADVICE = {
    "redis": "check MANGA_REDIS_URL, that the server runs, and user and password",
    "catalog": "check MANGA_CATALOG_FILE",
    "stock": "check MANGA_STORE_URL",
    "orders": "check MANGA_STORE_URL",
}


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    address: str
    state: str
    latency_ms: float
    detail: str


async def examine(settings: Settings) -> int:
    """Prints a table. Exit status 0 when everything is well, 1 when something is not."""
    started = time.monotonic()
    async with open_app(settings, local=True) as app:
        states = await app.dependencies.states()
    findings = [_finding(settings, name, state) for name, state in states.items()]
    rows = [("dependency", "where", "state", "ms", "what to know"), *(_row(each) for each in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    well = all(each.state == "ok" for each in findings)
    print(f"\n{'all well' if well else 'not well'}, opened in {time.monotonic() - started:.1f} s")
    return 0 if well else 1


def _finding(settings: Settings, name: str, state: dict[str, object]) -> Finding:
    detail = str(state.get("detail", ""))
    if state["state"] != "ok":
        detail = f"{detail}: {ADVICE[name]}".lstrip(": ")
    return Finding(name, _address(settings, name), str(state["state"]), float(str(state["latency_ms"])), detail)


def _address(settings: Settings, name: str) -> str:
    """Without user and password."""
    url = {"redis": settings.redis_url, "catalog": settings.catalog_url}.get(name, settings.store_url)
    scheme, _, rest = url.partition("//")
    return f"{scheme}//{rest.rpartition('@')[2]}" if rest else url


def _row(finding: Finding) -> tuple[str, str, str, str, str]:
    return (finding.name, finding.address, finding.state, f"{finding.latency_ms:.1f}", finding.detail)
