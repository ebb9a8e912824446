"""What the search must reach with conditions. Open and locked queries count alike."""

from __future__ import annotations

from collections.abc import Sequence

from tests.quality.conditions.measure import Measured
from tests.quality.conditions.report import mean
from tests.quality.conditions.wanted import NAMES

CONDITIONS, BY_KIND = 0.85, {"exclusion": 0.95, "audience": 0.95, NAMES: 0.985}


def missed(results: Sequence[Measured]) -> list[str]:
    """Each bar that is not reached, in words. What was not asked misses none."""
    found = [_below(kind, [each for each in results if each.query.kind == kind], bar) for kind, bar in BY_KIND.items()]
    found.append(_below("conditions", [each for each in results if each.query.conditional], CONDITIONS))
    if against := sum(each.excluded for each in results):
        found.append(f"{against} titles against a stated exclusion, may be 0")
    return [each for each in found if each]


def _below(what: str, results: Sequence[Measured], bar: float) -> str | None:
    score = mean(results)
    return None if score is None or score >= bar else f"{what} {score:.3f}, bar {bar}"
