"""`python -m tests.load.order_timing`: can a customer tell by the clock whether a number that is not theirs is an order?

One customer asks for orders of their own, of others, that never were, and with absurd numbers, in random order, over the
embedded store and over DynamoDB; see "Orders that are not yours" in report.md. Own ones are there to show what a difference
looks like.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime

import numpy as np

from tests.load import report
from tests.load.order_answers import ABSURD, FOREIGN, KINDS, MISSING, OWN, Samples, inside, over_the_wire
from tests.load.told_apart import MOST, Compared, compared
from tests.stack import dynamodb
from tests.support.stack import seeded

# -- asking


# -- the table


async def measure(count: int, stores: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], Samples]:
    """By store, and by where the clock is."""
    found: dict[tuple[str, str], Samples] = {}
    for store, settings in stores.items():
        found[store, "client"], found[store, "latencyMs"] = await over_the_wire(count, settings)
        found[store, "in the server"] = await inside(count, settings)
    return found


def table(found: Mapping[tuple[str, str], Samples]) -> str:
    count = next(iter(found.values()))[OWN].size
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, {count:,} of each kind in every row", report.machine(), ""]
    lines += ["median ms                      own   foreign   missing    absurd"]
    for (store, clock), samples in found.items():
        medians = "".join(f"{np.median(samples[kind]) * 1000:10.3f}" for kind in KINDS)
        lines.append(f"{store:9} {clock:14}{medians}")
    lines += ["", "told apart                     medians differ by µs      AUC                    p     best threshold"]
    for pair in ((FOREIGN, MISSING), (ABSURD, MISSING), (OWN, MISSING)):
        lines.append(f"{pair[0]} from {pair[1]}")
        for (store, clock), samples in found.items():
            lines.append(f"  {store:9} {clock:14}  {_row(compared(samples[pair[0]], samples[pair[1]]))}")
    return "\n".join([*lines, "", *bars(found)]) + "\n"


def _row(each: Compared) -> str:
    difference = f"{each.difference_us:+.1f} [{each.difference_ci[0]:+.1f}, {each.difference_ci[1]:+.1f}]"
    auc = f"{each.auc:.3f} [{each.auc_ci[0]:.3f}, {each.auc_ci[1]:.3f}]"
    return f"{difference:25} {auc:22} {each.p:.2f}  +{each.advantage:.3f} (p {each.advantage_p:.2f})"


def bars(found: Mapping[tuple[str, str], Samples]) -> Iterator[str]:
    """Own orders are no secret; of the others none may be told from another."""
    for one in (FOREIGN, ABSURD):
        worst = max((abs(compared(each[one], each[MISSING]).auc - 0.5), *of) for of, each in found.items())
        word = "met   " if worst[0] <= MOST else "MISSED"
        yield f"{word}  {one} from missing: AUC within {worst[0]:.3f} of 0.5, at most {MOST} ({worst[1]}, {worst[2]})"


def opened(names: Sequence[str], stack: ExitStack) -> dict[str, dict[str, str]]:
    """The settings of each store, filled with the demo's orders."""
    own: dict[str, dict[str, str]] = {name: {} for name in names}
    if "DynamoDB" in own:
        running = os.environ.get("MANGA_STACK_DYNAMODB")
        url = running or stack.enter_context(dynamodb.dynamodb_local())
        prefix = f"timing{uuid.uuid4().hex[:8]}-"
        own["DynamoDB"] = {"MANGA_STORE_URL": f"dynamodb://{dynamodb.REGION}?endpoint={url}&table_prefix={prefix}"}
        done = seeded(own["DynamoDB"])
        assert done.returncode == 0, done.stderr
    return own


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.order_timing", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--samples", type=int, default=5000, help="of each kind, for each store and clock")
    parser.add_argument("--only", choices=("embedded", "DynamoDB"), help="one store instead of both")
    parser.add_argument("--write", action="store_true", help="write the table to tests/load/figures/orders.txt")
    parser.add_argument("--bars", action="store_true", help="exit with 1 when they can be told apart")
    asked = parser.parse_args(arguments)
    with ExitStack() as stack:
        stores = opened([asked.only] if asked.only else ["embedded", "DynamoDB"], stack)
        found = asyncio.run(measure(asked.samples, stores))
    text = table(found)
    sys.stdout.write(text)
    if asked.write:
        (report.FIGURES / "orders.txt").write_text(text, "utf-8")
    return int(asked.bars and any(line.startswith("MISSED") for line in bars(found)))


if __name__ == "__main__":
    raise SystemExit(main())
