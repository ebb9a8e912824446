"""A flame graph as SVG (Gregg, "The Flame Graph", CACM 59(6), 2016): a box is a function, as wide as its share of the
samples, above whoever called it. Neighbours are in alphabetical order, not in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from zlib import crc32

from tests.load.flame.sampler import Stack

WIDTH, ROW, CHARACTER = 1200, 16, 6.6
LEAST_SHARE = 0.004
"""What is narrower is not drawn, and keeps the file small."""
OURS = ("server", "session", "tools", "tests")
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace" font-size="11">\n'
    '<rect width="100%" height="100%" fill="#fff"/>\n<text x="8" y="16" font-size="13">{title}</text>\n'
)
BOX = (
    '<g><title>{name}: {share:.1%}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="15" fill="{colour}"/>'
    '<text x="{text:.1f}" y="{base}">{label}</text></g>\n'
)


@dataclass(slots=True)
class Node:
    """A function where it was called from; `count` has those that it called."""

    count: int = 0
    called: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    depth: int
    left: int
    count: int


def flame_graph(stacks: Counter[Stack], title: str) -> str:
    """Draws them. Functions that are ours are orange, those of libraries grey."""
    root = tree(stacks)
    least = LEAST_SHARE * root.count
    boxes = list(_boxes(root, 0, 0, least))
    height = (max((box.depth for box in boxes), default=0) + 3) * ROW
    drawn = (_drawn(box, root.count, height) for box in boxes)
    return HEAD.format(width=WIDTH, height=height, title=escape(title)) + "".join(drawn) + "</svg>\n"


def tree(stacks: Counter[Stack]) -> Node:
    root = Node()
    for stack, count in stacks.items():
        root.count += count
        at = root
        for name in stack:
            at = at.called.setdefault(name, Node())
            at.count += count
    return root


def _boxes(node: Node, depth: int, left: int, least: float) -> Iterator[Box]:
    for name, inner in sorted(node.called.items()):
        if inner.count >= least:
            yield Box(name, depth, left, inner.count)
            yield from _boxes(inner, depth + 1, left, least)
        left += inner.count


def _drawn(box: Box, total: int, height: int) -> str:
    scale = WIDTH / total
    x, width, y = box.left * scale, box.count * scale, height - (box.depth + 1) * ROW
    room = int(width / CHARACTER)
    short = box.name.rpartition(":")[2]
    label = escape(short if len(short) <= room else short[:room] if room > 2 else "")
    return BOX.format(
        name=escape(box.name),
        share=box.count / total,
        x=x,
        y=y,
        width=max(width - 0.5, 0.5),
        colour=_colour(box.name),
        text=x + 2,
        base=y + 11,
        label=label,
    )


def _colour(name: str) -> str:
    ours = name.partition(".")[0].partition(":")[0] in OURS
    shade = crc32(name.encode()) % 40
    return f"hsl({28 if ours else 210},{80 if ours else 12}%,{62 + shade // 2}%)"
