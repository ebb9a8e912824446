"""The flame graph: who is busy is seen, and is drawn as wide as it was busy."""

from __future__ import annotations

import re
import time
from collections import Counter

from tests.load.flame.drawing import WIDTH, flame_graph, tree
from tests.load.flame.sampled import folded, unfolded
from tests.load.flame.sampler import Samples

STACKS = Counter({("m:a", "server.x:b"): 30, ("m:a", "n:c<d>"): 60, ("m:a",): 10, ("m:e",): 100, ("m:rare",): 0})
BUSY_SECONDS = 0.2


def test_a_box_is_as_wide_as_its_share_above_who_called_it() -> None:
    drawn = flame_graph(STACKS, "a title")
    shares = {name: float(share) for name, share in re.findall(r"<title>(.*?): ([\d.]+)%</title>", drawn)}
    assert shares == {"m:a": 50.0, "server.x:b": 15.0, "n:c&lt;d&gt;": 30.0, "m:e": 50.0}
    widths = [float(each) for each in re.findall(r'<rect x="[\d.]+" y="\d+" width="([\d.]+)"', drawn)]
    assert widths == [WIDTH / 2 - 0.5, 0.3 * WIDTH - 0.5, 0.15 * WIDTH - 0.5, WIDTH / 2 - 0.5]
    assert tree(STACKS).called["m:a"].count == 100


def test_what_was_written_is_read_again() -> None:
    assert unfolded(folded(STACKS)) == STACKS


def test_who_is_busy_is_seen() -> None:
    samples = Samples()
    with samples.taken():
        _busy()
    seen = samples.stacks.total()
    _busy()
    assert seen == samples.stacks.total() > 0
    assert any(stack[-1].endswith("_busy") for stack in samples.stacks)


def _busy() -> None:
    """Of processor time, which a busy machine gives later but no less of."""
    until = time.process_time() + BUSY_SECONDS
    while time.process_time() < until:
        pass
