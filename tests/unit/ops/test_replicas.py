"""The list of other replicas is bounded and pruned, by the test's clock."""

from __future__ import annotations

from server.ops.observation import Replicas
from server.transport.http.sse import SessionRouter
from tests.support.clocks import HandClock


class Reaches(SessionRouter):
    def __init__(self, *names: str) -> None:
        self.names = set(names)

    def others(self) -> set[str]:
        return self.names


def test_replica_that_is_gone_is_listed_for_a_while_and_then_forgotten() -> None:
    clock, reach = HandClock(), Reaches("c", "b", "a")
    replicas = Replicas("own", reach, clock)
    replicas.tick()
    for gone, seconds in (("b", 5.5), ("c", 294.5)):
        reach.names.remove(gone)
        clock.advance(seconds)
        replicas.tick()
    assert [(each["name"], each["seen_s_ago"], each["self"]) for each in replicas.rows()] == [
        ("own", 0.0, True),
        ("a", 0.0, False),
        ("b", 300.0, False),
        ("c", 294.5, False),
    ]
    clock.advance(5.96)
    assert replicas.rows()[1]["seen_s_ago"] == 6.0
    clock.advance(0.04)
    replicas.tick()
    assert [each["name"] for each in replicas.rows()] == ["own", "a"]


def test_only_the_newest_replicas_are_kept() -> None:
    clock, reach = HandClock(), Reaches(*(f"old-{number}" for number in range(64)))
    replicas = Replicas("own", reach, clock)
    replicas.tick()
    clock.advance(5.0)
    reach.names = {"new"}
    replicas.tick()
    names = {each["name"] for each in replicas.rows()}
    assert len(names) == 1 + 64
    assert "new" in names
