"""What is known of the suite's verdict: the checks that this server does not meet, each scenario with the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.suite import Scenario

FILE = Path(__file__).with_name("baseline.json")


@dataclass(frozen=True, slots=True)
class Excused:
    reason: str
    checks: frozenset[str]


def baseline(version: str, known: Mapping[str, Any] | None = None) -> dict[str, Excused]:
    """By scenario, of one version of the protocol."""
    listed = json.loads(FILE.read_text("utf-8")) if known is None else known
    return {name: Excused(each["reason"], frozenset(each["checks"])) for name, each in listed[version].items()}


def surprises(
    found: Mapping[str, Scenario], excused: Mapping[str, Excused], scored: frozenset[str] = frozenset()
) -> list[str]:
    """A line for each thing that is not as the baseline says: what is not met and not on the list, what is on the list and
    met, and what should have been checked and was not."""
    lines = [f"{name}: did not run" for name in sorted((excused.keys() | scored) - found.keys())]
    for name, scenario in found.items():
        listed = excused[name].checks if name in excused else frozenset()
        lines += [f"{name}: {check}: {scenario.unmet[check]}" for check in sorted(scenario.unmet.keys() - listed)]
        lines += [f"{name}: {check} is met, take it off the list" for check in sorted(listed - scenario.unmet.keys())]
        if name in scored and not scenario.met:
            lines.append(f"{name}: nothing was checked")
    return lines
