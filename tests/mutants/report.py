"""The verdicts as a table, without the mutants that nothing could notice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.trial import Verdict

FILE = Path(__file__).with_name("equivalents.json")


@dataclass(frozen=True, slots=True)
class Equivalents:
    """Reasons by (module, the changed lines as the difference shows them), which outlives a change elsewhere in the module."""

    reasons: Mapping[tuple[str, str], str]

    @classmethod
    def load(cls) -> Equivalents:
        """Raises OSError and LookupError for a file that is none."""
        rows = json.loads(FILE.read_text(encoding="utf-8"))
        return cls({(row["path"], row["change"]): row["why"] for row in rows})

    def reason(self, verdict: Verdict) -> str | None:
        return self.reasons.get((str(verdict.mutant.path), change_of(verdict.diff)))


def change_of(diff: str) -> str:
    """The lines taken out and put in, without their place."""
    return "\n".join(line for line in diff.splitlines() if line[:1] in "+-" and line[:2] != "@@")


def table(verdicts: Mapping[str, Sequence[Verdict]], equivalents: Equivalents, seed: int) -> tuple[str, float]:
    """Markdown, and the share of the mutants that could be noticed and were."""
    lines = [f"\nSeed {seed}.\n", "| area | mutants | equivalent | killed | share |", "| --- | ---: | ---: | ---: | ---: |"]
    every = {"all": [verdict for each in verdicts.values() for verdict in each]}
    share = 0.0
    for area, found in {**verdicts, **every}.items():
        killed = sum(verdict.outcome == "killed" for verdict in found)
        equal = sum(verdict.outcome != "killed" and equivalents.reason(verdict) is not None for verdict in found)
        share = killed / max(1, len(found) - equal)
        lines.append(f"| {area} | {len(found)} | {equal} | {killed} | {share:.3f} |")
    return "\n".join(lines) + "\n", share
