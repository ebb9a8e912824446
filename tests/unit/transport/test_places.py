"""Slots are shared: no holder keeps others out by taking all, and none has to stay unused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.transport.http.slots import LOCAL, NoRoom, Slot, Slots, holder_of
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.fuzzing import examples

MOST = 4


def slots(unused: float = math.inf, idle: float = math.inf) -> tuple[Slots[Slot], HandClock]:
    clock = HandClock()
    return Slots(MOST, unused, idle, clock), clock


def test_one_holder_may_take_all_slots_and_no_more() -> None:
    """A further slot is refused."""
    own, _ = slots()
    for _ in range(MOST):
        assert own.take(Slot("a")) is None
    assert not own.has_room_for("a")
    with pytest.raises(NoRoom):
        own.take(Slot("a"))


def test_largest_holder_yields_its_longest_unused_slot_down_to_a_fair_share() -> None:
    """A newcomer gets no more slots than the others have."""
    own, clock = slots()
    theirs = [Slot("a") for _ in range(MOST)]
    for each in theirs:
        own.take(each)
        clock.advance(1)
    own.use(theirs[0])
    assert own.has_room_for("b")
    assert own.take(Slot("b")) is theirs[1]
    assert own.take(Slot("b")) is theirs[2]
    assert not own.has_room_for("b")
    with pytest.raises(NoRoom):
        own.take(Slot("b"))
    assert sorted(place.holder for place in own) == ["a", "a", "b", "b"]


def test_customer_with_the_most_slots_of_a_holder_yields_first() -> None:
    """It yields although each of its slots has work under way and the others' slots have none."""

    class Busy(Slot):
        def busy(self) -> bool:
            return True

    own, clock = slots()
    patient = Slot("agent", b"quiet")
    own.take(patient)
    theirs = [Busy("agent", b"greedy") for _ in range(MOST - 1)]
    for each in theirs:
        clock.advance(1)
        own.take(each)
    assert not own.has_room_for("agent", b"greedy")
    with pytest.raises(NoRoom):
        own.take(Busy("agent", b"greedy"))
    assert own.has_room_for("agent", b"other")
    assert own.take(Slot("agent", b"other")) is theirs[0]
    assert own.take(Slot("another agent", b"other")) is theirs[1]
    assert patient in list(own)


def test_unused_and_idle_slots_yield_after_their_timeout() -> None:
    """They yield to any newcomer, their own holder included."""
    own, clock = slots(unused=10, idle=60)
    theirs = [Slot("a") for _ in range(MOST)]
    for each in theirs:
        own.take(each)
    own.use(theirs[0])
    clock.advance(9)
    assert not own.has_room_for("a")
    clock.advance(1)
    for each in theirs[1:]:
        assert own.take(Slot("a")) is each
    assert not own.has_room_for("a")
    for each in list(own):
        own.use(each)
    clock.advance(59)
    assert not own.has_room_for("a")
    clock.advance(1)
    assert own.take(Slot("a")) is theirs[0]


@given(newcomers=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=60))
@examples(100)
def test_holder_without_a_slot_gets_one_while_any_holder_has_two(newcomers: list[str]) -> None:
    """This holds in every history, and there are never more slots taken than exist."""
    own, _ = slots()
    for name in newcomers:
        held = [place.holder for place in own]
        if name not in held and len(set(held)) < MOST:
            assert own.has_room_for(name)
        try:
            own.take(Slot(name))
        except NoRoom:
            assert len(own) == MOST
        assert len(own) <= MOST


@cases(
    ("client", "holder"),
    [
        (("127.0.0.1", 1), LOCAL),
        (("127.9.9.9", 1), LOCAL),
        (("::1", 1), LOCAL),
        (None, LOCAL),
        (("/run/x.sock", 0), LOCAL),
        (("10.0.0.7", 1), "address 10.0.0.7"),
    ],
)
def test_unauthenticated_holder_is_the_address_and_loopback_is_one(client: object, holder: str) -> None:
    """On loopback the caller is the agent of the same task."""
    assert holder_of({"type": "http", "client": client}) == holder
