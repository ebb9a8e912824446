"""A plugin of pytest: which test ended how, and after how many seconds; and only the tests that are asked for, in that order.

It runs in the environment of the tests as well as in that of the mutants, so it imports nothing that only one of them has.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

JOURNAL = "MUTANTS_JOURNAL"
"""Environment: the file that gets a line of JSON for each phase of a test, and for each module that cannot be collected."""
WANTED = "MUTANTS_WANTED"
"""Environment: a file with a JSON object of ids, in order, and the seconds after which each has hung. Without it every test
runs."""


@dataclass(frozen=True, slots=True)
class Line:
    test: str
    outcome: str
    seconds: float


def lines_of(journal: Path) -> Iterator[Line]:
    """Nothing where no journal was begun."""
    if journal.exists():
        for line in journal.read_text(encoding="utf-8").splitlines():
            yield Line(**json.loads(line))


def forget(journal: Path, files: Sequence[str]) -> None:
    """What is there of the tests of these files, which are run anew."""
    kept = [line for line in lines_of(journal) if line.test.partition("::")[0] not in files]
    journal.write_text("".join(json.dumps(asdict(line)) + "\n" for line in kept), encoding="utf-8")


def pytest_configure() -> None:
    """Any failing example will do: to look for the smallest one takes minutes."""
    if WANTED in os.environ:
        from hypothesis import Phase, settings  # the environment of the mutants has none

        settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate), database=None)
        settings.load_profile("mutants")


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    if WANTED not in os.environ:
        return
    wanted: dict[str, float] = json.loads(Path(os.environ[WANTED]).read_text(encoding="utf-8"))
    place = {test: index for index, test in enumerate(wanted)}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in place])
    items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])
    import pytest

    for item in items:
        item.add_marker(pytest.mark.timeout(wanted[item.nodeid]), append=False)


def pytest_runtest_logreport(report: Any) -> None:
    _write(Line(report.nodeid, report.outcome, report.duration))


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _write(Line(report.nodeid, report.outcome, 0.0))


def _write(line: Line) -> None:
    with Path(os.environ[JOURNAL]).open("a", encoding="utf-8") as journal:
        journal.write(json.dumps(asdict(line)) + "\n")
