"""`python -m tests.load.fleet`: prints the report; `--write` keeps it in tests/load/report.md, with its tables and plots."""

from __future__ import annotations

import argparse

from tests.load.fleet.inputs import read_inputs
from tests.load.fleet.planning import VOLUMES, capacity, fleet_for, situations
from tests.load.fleet.plots import plot_day, plot_situations, plot_validation
from tests.load.fleet.report import details, report
from tests.load.fleet.validation import compared
from tests.load.open_loop.report import write
from tests.load.report import FIGURES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.fleet", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the report, its tables and its plots")
    options = parser.parse_args()
    inputs = read_inputs()
    bears, found = capacity(inputs), compared(inputs)
    fleets = [fleet_for(messages, bears, inputs) for messages in VOLUMES]
    rows = {fleet.messages: situations(fleet, inputs) for fleet in fleets}
    text, tables = report(inputs, found, bears, fleets), details(inputs, found, rows)
    print(text, tables, sep="\n\n")
    if options.write:
        write("fleet", text)
        (FIGURES / "fleet.txt").write_text(tables, "utf-8")
        plot_validation(found)
        plot_day(inputs, bears)
        plot_situations(rows, inputs.plan["p99_ms"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
