"""`python -m tests.load.fleet`: prints the report; `--write` keeps it, with its plots."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.load.fleet.inputs import read_inputs
from tests.load.fleet.planning import VOLUMES, capacity, fleet_for, situations
from tests.load.fleet.plots import FOLDER, plot_day, plot_situations, plot_validation
from tests.load.fleet.report import report
from tests.load.fleet.validation import compared

REPORT = FOLDER / "fleet.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.fleet", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name} and its plots")
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder that they are written to")
    options = parser.parse_args()
    inputs = read_inputs()
    bears, found = capacity(inputs), compared(inputs)
    fleets = [fleet_for(messages, bears, inputs) for messages in VOLUMES]
    rows = {fleet.messages: situations(fleet, inputs) for fleet in fleets}
    text = report(inputs, found, bears, fleets, rows)
    print(text)
    if options.write:
        (options.into / REPORT.name).write_text(text, "utf-8")
        plot_validation(found, options.into)
        plot_day(inputs, bears, options.into)
        plot_situations(rows, inputs.plan["p99_ms"], options.into)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
