"""The rooms of the house and which uses which, read from the imports."""

from __future__ import annotations

from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

import grimp

from server.config.settings import ROOT

COLUMNS = {"server": "server", "tools": "tools", "tools.store": "store", "session": "session"}
"""A package whose folders are rooms, and what its column is called. The longest name that fits counts."""
TOGETHER = {
    "server": {
        "__main__": "commands",
        "application": "wiring",
        "backends": "wiring",
        "standby": "wiring",
        "ops": "wiring",
        "tracing": "wiring",
        "version": "call",
        "content_blocks": "call",
        "results": "call",
        "envelope": "call",
        "notes": "call",
        "packages": "flags",
        "extensions": "wiring",
    },
    "tools": {
        "preferences": "conditions",
        "history": "results",
        "registry": "registry",
        "register": "registry",
        "primitive_registry": "registry",
        "cards": "registry",
        "prompts": "registry",
        "skills": "registry",
        "resources": "registry",
        "completions": "registry",
        "contract": "contract",
        "client": "contract",
        "primitives": "results",
        "prices": "results",
        "volumes": "results",
        "": "tools",
    },
    "tools.store": {
        "records": "models",
        "stock": "stock",
        "store": "stock",
        "classification": "search",
        "preferences": "search",
        "": "models",
    },
    "session": {
        "memory": "memory",
        "opening": "memory",
        "local": "memory",
        "snapshots": "memory",
        "profile": "memory",
        "stated_preferences": "memory",
        "conversation": "memory",
        "recollection": "memory",
        "": "turn",
    },
}
"""What stands at the root of a package, by the room that it belongs to; "" for all modules that are not named. A package that
nothing is said of is a room by itself."""


@dataclass(frozen=True, slots=True, order=True)
class Room:
    column: str
    name: str


@dataclass(slots=True)
class House:
    modules: dict[Room, list[str]] = field(default_factory=dict)
    uses: dict[Room, set[Room]] = field(default_factory=dict)

    def used_columns(self, room: Room) -> list[str]:
        """Other columns that a room imports from, in the order of `COLUMNS`."""
        used = {other.column for other in self.uses[room]} - {room.column}
        return [column for column in COLUMNS.values() if column in used]

    def arrows(self, column: str) -> dict[Room, set[Room]]:
        """The arrows inside a column but for those that follow from two others.

        Raises ValueError, with the rooms, where they run in a circle.
        """
        uses = {room: {each for each in used if each.column == column} for room, used in self.uses.items()}
        own = {room: uses[room] for room in self.modules if room.column == column}
        try:
            lowest_first = list(TopologicalSorter(own).static_order())
        except CycleError as error:
            circle = " → ".join(room.name for room in error.args[1])
            raise ValueError(f"rooms of {column} use each other in a circle: {circle}") from error
        beyond: dict[Room, set[Room]] = {}
        for room in lowest_first:
            beyond[room] = own[room].union(*(beyond[each] for each in own[room]))
        return {room: used - set().union(*(beyond[each] for each in used)) for room, used in own.items()}


def room_of(module: str) -> Room | None:
    """None for a package that only holds rooms."""
    package = max((each for each in COLUMNS if f"{module}.".startswith(f"{each}.")), key=len)
    if module == package:
        return None
    first = module.removeprefix(f"{package}.").partition(".")[0]
    together = TOGETHER[package]
    if first not in together and (ROOT / package.replace(".", "/") / first).is_dir():
        return Room(COLUMNS[package], first)
    return Room(COLUMNS[package], together.get(first, together.get("", first)))


def house() -> House:
    """What is imported only for its types binds nothing, and does not count."""
    roots = [name for name in COLUMNS if "." not in name]
    graph = grimp.build_graph(*roots, exclude_type_checking_imports=True, cache_dir=None)
    found = House()
    for module in sorted(graph.modules):
        room = room_of(module)
        if room is None:
            continue
        found.modules.setdefault(room, []).append(module)
        used = {room_of(each) for each in graph.find_modules_directly_imported_by(module)}
        found.uses.setdefault(room, set()).update(each for each in used if each is not None and each != room)
    return found
