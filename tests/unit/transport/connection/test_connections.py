"""Which connections are given up, and when, on a clock of the test's own."""

from __future__ import annotations

import pytest

from server.transport.http.connection import ANSWER_SECONDS, FOR_PROBES, REQUEST_SECONDS, Connections


class Client:
    """A connection that notes what was done to it."""

    def __init__(self) -> None:
        self.fate = ""

    def time_out(self) -> None:
        self.fate = "timed out"

    def drop(self) -> None:
        self.fate = "dropped"

    def refuse(self) -> None:
        self.fate = "refused"

    def serve_probes_only(self) -> None:
        self.fate = "for probes"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def connections(clock: Clock) -> Connections:
    return Connections(3, clock)


def opened(connections: Connections, number: int = 1) -> list[Client]:
    clients = [Client() for _ in range(number)]
    for client in clients:
        connections.add(client)
    return clients


def test_a_request_that_is_not_whole_in_time_is_given_up(connections: Connections, clock: Clock) -> None:
    """However often a byte of it comes."""
    (client,) = opened(connections)
    for _ in range(9):
        clock.now += REQUEST_SECONDS / 10
        connections.mark_incomplete(client)
        connections.close_overdue()
    assert client.fate == ""
    clock.now += REQUEST_SECONDS / 10
    connections.close_overdue()
    assert client.fate == "timed out"


def test_a_request_that_is_whole_may_take_its_time_to_be_answered(connections: Connections, clock: Clock) -> None:
    """An event stream is a request that is being answered for hours."""
    (client,) = opened(connections)
    connections.mark_complete(client)
    clock.now += 10_000
    connections.close_overdue()
    assert client.fate == ""


def test_each_request_has_its_own_time(connections: Connections, clock: Clock) -> None:
    """What came before on the connection does not count, nor does the pause between."""
    (client,) = opened(connections)
    connections.mark_complete(client)
    connections.mark_idle(client)
    clock.now += REQUEST_SECONDS + 1
    connections.mark_incomplete(client)
    clock.now += REQUEST_SECONDS - 1
    connections.close_overdue()
    assert client.fate == ""
    clock.now += 1.1
    connections.close_overdue()
    assert client.fate == "timed out"


def test_whoever_takes_no_answer_is_dropped(connections: Connections, clock: Clock) -> None:
    """But not one that was slow and has caught up since."""
    stuck, slow = opened(connections, 2)
    for client in (stuck, slow):
        connections.mark_complete(client)
        connections.mark_unread(client)
    clock.now += ANSWER_SECONDS - 1
    connections.mark_read(slow)
    connections.mark_unread(slow)
    connections.mark_unread(stuck)
    clock.now += 1.1
    connections.close_overdue()
    assert (stuck.fate, slow.fate) == ("dropped", "")


def test_whoever_does_not_read_that_it_was_too_slow_is_dropped(connections: Connections, clock: Clock) -> None:
    """Closing waits until the last bytes are taken."""
    (client,) = opened(connections)
    clock.now += REQUEST_SECONDS + 1
    connections.close_overdue()
    clock.now += ANSWER_SECONDS + 1
    connections.close_overdue()
    assert client.fate == "dropped"


def test_a_newcomer_takes_the_place_of_the_longest_idle(connections: Connections) -> None:
    """Before that of one whose request is on its way."""
    owing, first, second = opened(connections, 3)
    for client in (first, second):
        connections.mark_complete(client)
        connections.mark_idle(client)
    opened(connections)
    assert (owing.fate, first.fate, second.fate) == ("", "dropped", "")
    assert len(connections) == 3


def test_a_newcomer_takes_the_place_of_the_slowest(connections: Connections, clock: Clock) -> None:
    """Connecting and saying nothing keeps nobody out."""
    slowest, slow, asking = opened(connections, 3)
    connections.mark_complete(asking)
    (newcomer,) = opened(connections)
    assert [each.fate for each in (slowest, slow, asking, newcomer)] == ["dropped", "", "", ""]


def test_nobody_who_waits_for_an_answer_is_given_up_for_a_newcomer(connections: Connections) -> None:
    """It may ask whether the server lives. Where that takes too many it is refused, and takes no place."""
    for client in opened(connections, 3):
        connections.mark_complete(client)
    assert connections.count_held() == 3
    for number in range(FOR_PROBES):
        (newcomer,) = opened(connections)
        assert (newcomer.fate, len(connections)) == ("for probes", 4 + number)
        connections.mark_complete(newcomer)
    (newcomer,) = opened(connections)
    assert newcomer.fate == "refused"
    assert len(connections) == 3 + FOR_PROBES


def test_what_has_closed_is_forgotten(connections: Connections, clock: Clock) -> None:
    """Nothing is done to it, and its place is free."""
    clients = opened(connections, 3)
    connections.mark_unread(clients[0])
    for client in clients:
        connections.remove(client)
    clock.now += 1000
    connections.close_overdue()
    assert len(connections) == 0
    assert {client.fate for client in clients} == {""}


def test_who_takes_no_answer_yields_to_a_newcomer(connections: Connections) -> None:
    """Before anybody is refused; and whoever is being answered keeps its place."""
    served, first, second = opened(connections, 3)
    for client in (served, first, second):
        connections.mark_complete(client)
    connections.mark_unread(first)
    connections.mark_unread(second)
    opened(connections)
    assert (served.fate, first.fate, second.fate) == ("", "dropped", "")


def test_who_was_just_answered_keeps_its_place_before_those_who_never_asked(connections: Connections, clock: Clock) -> None:
    opened(connections, 2)
    clock.now += 1
    (served,) = opened(connections)
    connections.mark_complete(served)
    connections.mark_idle(served)
    opened(connections, 2)
    assert served.fate == ""
    opened(connections)
    assert served.fate == "dropped"
