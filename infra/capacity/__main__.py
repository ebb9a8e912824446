"""`python -m infra.capacity`: prints what the service needs and costs on AWS; writes infra/CAPACITY.md and its plot."""

from __future__ import annotations

import argparse
from pathlib import Path

from infra.capacity.document import REGION, details, document
from infra.capacity.inputs import read_inputs, read_prices
from infra.capacity.plots import plot

FOLDER = Path(__file__).parents[1]
DOCUMENT = "CAPACITY.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.capacity", description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder that both are written to")
    folder = parser.parse_args().into
    inputs = read_inputs()
    text = document(inputs)
    print(text, details(inputs), sep="\n")
    (folder / DOCUMENT).write_text(text, "utf-8")
    plot(inputs, read_prices(REGION), folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
