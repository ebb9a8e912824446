"""The map of the house as a picture: a column for each package, its rooms in rows, and who uses whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from tests.snapshots.rooms import House, Room, house

ROW, HIGH, TOP, GAP = 74, 50, 96, 12
COLUMN = {"server": (24, 236), "tools": (308, 190), "store": (546, 216), "session": (810, 146)}
"""Where a column begins and how wide it is."""
SAYS = {
    "server": "protocol, pipeline, wiring",
    "tools": "what a model may call",
    "store": "tools/store: what the shop knows",
    "session": "memory, time, resilience",
    "server.commands": "serve, stdio, doctor, forget",
    "server.wiring": "the one place where parts meet",
    "server.transport": "SSE, Streamable HTTP, stdio",
    "server.pipeline": "the way of a call: read this first",
    "server.stages": "one file a stage",
    "server.identity": "who calls, and what they may",
    "server.config": "settings",
    "server.flags": "which tools there are, and are on",
    "server.runtime": "tasks, health",
    "server.telemetry": "log, metrics, spans, audit",
    "server.call": "a call and its result",
    "tools.registry": "the list of tools",
    "tools.tools": "a file each",
    "tools.conditions": "what a shopper said, obeyed",
    "tools.recommend": "taste, moods, reasons",
    "tools.results": "rows, prices, volumes, prompts",
    "tools.schema": "arguments",
    "tools.contract": "what a tool is",
    "store.stock": "stock, releases, kept for bad times",
    "store.catalog": "titles, popular",
    "store.backends": "embedded, AWS",
    "store.search": "queries, ranking",
    "store.guarded": "breaker, retry",
    "store.models": "titles, orders, ports, failures",
    "session.memory": "what is remembered",
    "session.redis": "one connection",
    "session.turn": "time left",
    "session.scripts": "Lua",
    "session.resilience": "deadline, breaker, LRU",
}
STYLE = """
    .band { fill: none; stroke: #d0d7de; }
    .room { fill: #ffffff; stroke: #8c959f; }
    .first { fill: #fff3d6; stroke: #9a6700; }
    .name { fill: #1f2328; font-size: 14px; font-weight: 600; }
    .head { fill: #1f2328; font-size: 17px; font-weight: 600; }
    .say { fill: #59636e; font-size: 11px; }
    .flow { fill: none; stroke: #59636e; stroke-width: 1.5; }
    .tip { fill: #59636e; }
    .tools { fill: #0969da; }
    .store { fill: #bc4c00; }
    .session { fill: #1a7f37; }
    .server { fill: #59636e; }
    @media (prefers-color-scheme: dark) {
      .band { stroke: #30363d; }
      .room { fill: #0d1117; stroke: #6e7681; }
      .first { fill: #332701; stroke: #d29922; }
      .name, .head { fill: #f0f6fc; }
      .say { fill: #9198a1; }
      .flow { stroke: #9198a1; }
      .tip, .server { fill: #9198a1; }
      .tools { fill: #4493f8; }
      .store { fill: #f0883e; }
      .session { fill: #3fb950; }
    }
"""
LEGEND = (
    "An arrow: uses. What follows from two arrows is not drawn.",
    "A dot: uses the column of that colour too.",
    "No arrow points up or to the left: make check fails where one would.",
    "infra (seed, demo data, example agent) may use all of it, and nothing uses infra.",
)


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    wide: float

    @property
    def middle(self) -> float:
        return self.x + self.wide / 2


def rows_of(arrows: Mapping[Room, set[Room]]) -> list[list[Room]]:
    """The uppermost first: a room stands below all that use it, and one that nobody here uses just above what it uses."""
    users = {room: [each for each, used in arrows.items() if room in used] for room in arrows}
    row: dict[Room, int] = {}

    def below(room: Room) -> int:
        if room not in row:
            row[room] = max((below(each) + 1 for each in users[room]), default=0)
        return row[room]

    for room in arrows:
        below(room)
    for room in arrows:
        if not users[room] and arrows[room]:
            row[room] = min(row[each] for each in arrows[room]) - 1
    rows = [sorted(room for room in arrows if row[room] == number) for number in range(max(row.values()) + 1)]
    return [_beneath(each, arrows) for each in rows]


def _beneath(row: list[Room], arrows: Mapping[Room, set[Room]]) -> list[Room]:
    """Who uses something stands before who uses nothing here: the arrows down then do not cross."""
    return sorted(row, key=lambda room: (not arrows[room], room.name))


def placed(column: str, rows: list[list[Room]]) -> dict[Room, Box]:
    x, wide = COLUMN[column]
    boxes = {}
    for number, row in enumerate(rows):
        each = (wide - GAP * (len(row) - 1)) / len(row)
        for place, room in enumerate(row):
            boxes[room] = Box(x + place * (each + GAP), TOP + number * ROW, each)
    return boxes


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'


def _room(room: Room, box: Box, drawn: House) -> Iterator[str]:
    first = "first" if (room.column, room.name) == ("server", "pipeline") else "room"
    yield f'<rect class="{first}" x="{box.x:g}" y="{box.y:g}" width="{box.wide:g}" height="{HIGH}" rx="8"/>'
    yield _text("name", box.middle, box.y + 22, room.name)
    count = len(drawn.modules[room])
    yield _text("say", box.middle, box.y + 39, SAYS.get(f"{room.column}.{room.name}", f"{count} files"))
    for number, column in enumerate(reversed(drawn.used_columns(room))):
        yield f'<circle class="{column}" cx="{box.x + box.wide - 12 - 10 * number:g}" cy="{box.y:g}" r="3.6"/>'


def _arrow(start: Box, end: Box) -> str:
    """Straight down where one stands below the other, else in an elbow between the rows."""
    low, high = start.y + HIGH, end.y - 2
    if start.x <= end.middle <= start.x + start.wide:
        path = f"M{end.middle:g} {low:g} V{high:g}"
    elif end.x <= start.middle <= end.x + end.wide:
        path = f"M{start.middle:g} {low:g} V{high:g}"
    else:
        path = f"M{start.middle:g} {low:g} V{end.y - 13:g} H{end.middle:g} V{high:g}"
    return f'<path class="flow" d="{path}" marker-end="url(#tip)"/>'


def _column(column: str, drawn: House) -> tuple[list[str], float]:
    """What is drawn of a column, and where it ends."""
    arrows = drawn.arrows(column)
    rows = rows_of(arrows)
    boxes = placed(column, rows)
    x, wide = COLUMN[column]
    end = TOP + len(rows) * ROW - ROW + HIGH
    parts = [f'<rect class="band" x="{x - 12}" y="24" width="{wide + 24}" height="{end - 8}" rx="12"/>']
    parts += [f'<circle class="{column}" cx="{x + 6}" cy="46" r="5"/>']
    parts += [_text("head", x + wide / 2, 52, column), _text("say", x + wide / 2, 72, SAYS[column])]
    parts += [_arrow(boxes[room], boxes[each]) for room in boxes for each in sorted(arrows[room])]
    for room, box in boxes.items():
        parts += _room(room, box, drawn)
    return parts, end + 16


def picture() -> str:
    """The whole picture as SVG, the same for the same imports."""
    drawn = house()
    parts, bottom = [], 0.0
    for column in COLUMN:
        more, end = _column(column, drawn)
        parts += more
        bottom = max(bottom, end)
    for left, right in zip(COLUMN, list(COLUMN)[1:], strict=False):
        start, end = sum(COLUMN[left]) + 12, COLUMN[right][0] - 12
        parts.append(f'<path class="flow" d="M{start} 46 H{end - 1}" marker-end="url(#tip)"/>')
    parts += [
        f'<text class="say" x="308" y="{bottom - 66 + 18 * n:g}">{escape(line)}</text>' for n, line in enumerate(LEGEND)
    ]
    inner = "\n  ".join(parts)
    said = "; ".join(
        f"{room.column} {room.name} uses {', '.join(f'{each.column} {each.name}' for each in sorted(drawn.uses[room])) or 'none'}"
        for room in sorted(drawn.modules)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 980 {bottom + 12:g}" role="img" aria-labelledby="t d" font-family="ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif">
  <title id="t">The rooms of the house</title>
  <desc id="d">{escape(said)}.</desc>
  <style>{STYLE}  </style>
  <defs>
    <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0.5 L8 4 L0 7.5 z"/></marker>
  </defs>
  {inner}
</svg>
"""
