"""Derived files are as `make snapshots` writes them: document tables, the map, the tools, .env.example."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.config.settings import ROOT
from tests.snapshots import rooms
from tests.snapshots.derived import SNAPSHOTS, derived
from tests.snapshots.rooms import COLUMNS, House, Room, house
from tests.support.cases import cases

FILES = derived()


@cases("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_generated_file_is_up_to_date(file: Path) -> None:
    assert file.exists(), "make snapshots writes it"
    assert file.read_text("utf-8") == FILES[file], "make snapshots writes it anew"


def test_no_snapshot_of_a_removed_tool_is_kept() -> None:
    assert set(SNAPSHOTS.glob("*.json")) <= set(FILES), "make snapshots takes it away"


def test_module_map_is_small_and_has_no_backward_arrow() -> None:
    """It has few boxes; a column uses columns to its right, and has no cycle inside."""
    drawn = house()
    assert 15 <= len(drawn.modules) <= 29
    order = list(COLUMNS.values())
    for room in drawn.modules:
        assert all(order.index(column) > order.index(room.column) for column in drawn.used_columns(room)), room
    for column in order:
        assert drawn.arrows(column)


def test_cycle_of_rooms_is_refused_by_name() -> None:
    one, two = Room("server", "one"), Room("server", "two")
    circle = House({one: ["server.one"], two: ["server.two"]}, {one: {two}, two: {one}})
    with pytest.raises(ValueError, match="use each other in a circle: (one → two → one|two → one → two)"):
        circle.arrows("server")


def test_transitive_arrow_is_left_out_of_the_map() -> None:
    one, two, three = (Room("server", name) for name in ("one", "two", "three"))
    chain = House({one: ["a"], two: ["b"], three: ["c"]}, {one: {two, three}, two: {three}, three: set()})
    assert chain.arrows("server") == {one: {two}, two: {three}, three: set()}


@cases(
    ("module", "room"),
    [
        ("server", None),
        ("server.pipeline", Room("server", "pipeline")),
        ("server.stages.cache", Room("server", "stages")),
        ("tools.lookup_order", Room("tools", "tools")),
        ("tools.store", None),
        ("tools.store.models", Room("store", "models")),
        ("tools.store.search.query", Room("store", "search")),
        ("session.memory", Room("session", "memory")),
    ],
)
def test_each_module_belongs_to_its_room(module: str, room: Room | None) -> None:
    assert rooms.room_of(module) == room
