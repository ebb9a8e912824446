"""The verdicts, kept as they come, and the share of the mutants that could be noticed and were."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.trial import Verdict

HERE = Path(__file__).parent
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Equivalents:
    """Reasons by (module, the changed lines as the difference shows them), which outlives a change elsewhere in the module."""

    reasons: Mapping[tuple[str, str], str]

    @classmethod
    def load(cls) -> Equivalents:
        """Raises OSError and LookupError for a file that is none."""
        rows = json.loads((HERE / "equivalents.json").read_text(encoding="utf-8"))
        return cls({(row["path"], row["change"]): row["why"] for row in rows})

    def has(self, row: Row) -> bool:
        return (row["path"], row["change"]) in self.reasons


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Of one area and seed: a line of JSON each."""

    file: Path

    def _rows(self) -> list[Row]:
        if not self.file.exists():
            return []
        return [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]

    def add(self, verdict: Verdict) -> None:
        mutant = verdict.mutant
        row = {
            "name": mutant.name,
            "path": str(mutant.path),
            "line": mutant.line,
            "outcome": verdict.outcome,
            "killer": verdict.killer,
            "change": change_of(verdict.diff),
        }
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def killed(self) -> set[str]:
        return {row["name"] for row in self._rows() if row["outcome"] == "killed"}

    def of(self, names: Iterable[str]) -> list[Row]:
        chosen = set(names)
        return [row for row in self._rows() if row["name"] in chosen]

    def forget(self, names: Iterable[str]) -> None:
        gone = set(names)
        kept = [row for row in self._rows() if row["name"] not in gone]
        self.file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), encoding="utf-8")


def killers(rows: Iterable[Row]) -> list[str]:
    return sorted({row["killer"] for row in rows} - {""})


@dataclass(frozen=True, slots=True)
class Share:
    area: str
    mutants: int
    equivalent: int
    killed: int

    @classmethod
    def of(cls, area: str, rows: Sequence[Row], equivalents: Equivalents) -> Share:
        alive = [row for row in rows if row["outcome"] != "killed"]
        return cls(area, len(rows), sum(map(equivalents.has, alive)), len(rows) - len(alive))

    @property
    def share(self) -> float:
        return self.killed / max(1, self.mutants - self.equivalent)

    def cells(self) -> tuple[str, ...]:
        return self.area, str(self.mutants), str(self.equivalent), str(self.killed), f"{self.share:.1%}"


def change_of(diff: str) -> str:
    """The lines taken out and put in, without their place."""
    return "\n".join(line for line in diff.splitlines() if line[:1] in "+-" and line[:2] != "@@")


def write_figures(shares: Sequence[Share], seed: int) -> None:
    """Puts the rows of this seed in place of its last ones."""
    file = HERE / "shares.tsv"
    head, *rows = file.read_text(encoding="utf-8").splitlines()
    kept = [row for row in rows if not row.startswith(f"{seed}\t")]
    made = ["\t".join([str(seed), *share.cells()]) for share in shares]
    file.write_text("\n".join([head, *kept, *made, ""]), encoding="utf-8")
