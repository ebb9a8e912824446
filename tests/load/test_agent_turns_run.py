"""The bench of the agent's turns runs, counts each turn once, and leaves no part of its time out."""

from __future__ import annotations

from tests.load.agent_turns import HEADER, Measured, bench


def test_each_kind_of_turn_is_measured() -> None:
    measured = bench(turns=3, customers=3)
    assert [(each.rounds, len(each.turns)) for each in measured] == [(1, 3), (2, 3), (3, 3)]
    for each in measured:
        for turn in each.turns:
            assert abs(sum(turn["spent"].values()) - turn["ms"]) <= 2
            assert turn["took_ms"] >= turn["ms"]
            assert len(turn["calls"]) == each.rounds or turn["outcome"] == "late"


def test_turns_are_measured_at_the_door_too() -> None:
    for each in bench(turns=3, customers=3, at_the_door=True):
        assert all(0 < turn["first"] <= turn["took_ms"] >= turn["ms"] for turn in each.turns)
        assert {turn["outcome"] for turn in each.turns} <= {"answered", "late"}
        assert each.cpu_ms > 0
    assert len(each.turns) == 3


def test_a_row_has_what_the_header_says() -> None:
    turn = {"first": 100, "took_ms": 900, "outcome": "answered", "spent": {"model": 700, "tools": 100}}
    row = Measured(2, [turn] * 2).row()
    assert row.split() == ["2", "2", "100", "100", "100", "900", "900", "900", "700", "100", "100", "0"]
    assert len(row.split()) == len(HEADER.splitlines()[1].split())
    assert Measured(2, [turn]).kept
    assert not Measured(2, [{**turn, "took_ms": 3001}]).kept
