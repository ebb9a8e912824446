"""`python -m tests.evals`: writes the data sets to .cache/evals, and has the loaders of Strands Evals and AgentCore read them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.evals.data import Scenario, conversations, routing
from tests.support.environments import ROOT, python_of

FOLDER = ROOT / ".cache" / "evals"


def write(folder: Path) -> list[Path]:
    """Two files of each data set, the same bytes each time."""
    folder.mkdir(parents=True, exist_ok=True)
    sets: dict[str, Sequence[Scenario]] = {"routing": tuple(routing()), "conversations": tuple(conversations())}
    files = []
    for name, scenarios in sets.items():
        forms = {
            "strands": {"cases": [each.for_strands() for each in scenarios], "evaluators": []},
            "agentcore": {"scenarios": [each.for_agentcore() for each in scenarios]},
        }
        for form, value in forms.items():
            files.append(folder / f"{form}-{name}.json")
            files[-1].write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return files


def loaded(files: Sequence[Path]) -> str:
    """What both loaders found. Raises CalledProcessError where one refuses a file."""
    command = [str(python_of("clients/evals")), "-m", "tests.evals.loaders", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    sys.stdout.write(loaded(write(FOLDER)))
