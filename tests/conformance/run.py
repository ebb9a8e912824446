"""`make conformance`: the suite in both eras against the fixture app, and a table of what it found.

`python -m tests.conformance.run [URL]`: URL is of another server, which is then asked instead.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.conformance.baseline import baseline, surprises
from tests.conformance.fixture.app import fixture_app
from tests.conformance.suite import VERSIONS, Scenario, run, scored
from tests.support.environments import problem
from tests.support.installed import node

Found = Mapping[str, Mapping[str, Scenario]]


@asynccontextmanager
async def _serving(url: str | None) -> AsyncIterator[str]:
    if url is not None:
        yield url
        return
    async with fixture_app() as own:
        yield own


async def _found(url: str | None) -> Found:
    found = {}
    async with _serving(url) as address:
        for version in VERSIONS:
            with tempfile.TemporaryDirectory() as folder:
                found[version] = await run(node(), address, version, Path(folder))
    return found


def _verdict(version: str, name: str, found: Found) -> str:
    """A cell: how many checks were met, and whether the scenario counts."""
    scenario = found[version].get(name)
    if scenario is None:
        return ""
    counts = "" if name in scored(node(), version) else " (not scored)"
    if not scenario.unmet:
        return f"passes {len(scenario.met)}{counts}"
    excused = baseline(version).get(name)
    known = excused is not None and scenario.unmet.keys() <= excused.checks
    return f"{'excused' if known else 'FAILS'} {len(scenario.unmet)}{counts}"


def table(found: Found) -> str:
    """A line for each scenario, a column for each version, and the sums."""
    names = sorted({name for each in found.values() for name in each})
    rows = [
        ("scenario", *VERSIONS),
        *((name, *(_verdict(version, name, found) for version in VERSIONS)) for name in names),
        ("scenarios", *(_sum(found[version]) for version in VERSIONS)),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _sum(found: Mapping[str, Scenario]) -> str:
    passed = sum(not scenario.unmet for scenario in found.values())
    return f"{passed} of {len(found)} pass"


def main(url: str | None = None) -> int:
    """Returns 1 where something is not as the baseline says."""
    if (missing := problem("clients/npm")) is not None:
        print(missing, file=sys.stderr)
        return 1
    logging.disable(logging.WARNING)
    found = asyncio.run(_found(url))
    print(table(found))
    lines = [
        f"{version} {line}"
        for version in VERSIONS
        for line in surprises(found[version], baseline(version), scored(node(), version))
    ]
    for version in VERSIONS:
        lines_of = [f"{version} {name}: excused: {each.reason}" for name, each in baseline(version).items()]
        print(*lines_of, sep="\n", end="\n" if lines_of else "")
    print(*lines, sep="\n", file=sys.stderr, end="\n" if lines else "")
    return bool(lines)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
