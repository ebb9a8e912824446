"""Which connections are closed, and when, by the test's clock."""

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


def test_incomplete_request_times_out(connections: Connections, clock: Clock) -> None:
    """Single bytes that arrive meanwhile do not extend its time."""
    (client,) = opened(connections)
    for _ in range(9):
        clock.now += REQUEST_SECONDS / 10
        connections.mark_incomplete(client)
        connections.close_overdue()
    assert client.fate == ""
    clock.now += REQUEST_SECONDS / 10
    connections.close_overdue()
    assert client.fate == "timed out"


def test_complete_request_may_wait_long_for_its_answer(connections: Connections, clock: Clock) -> None:
    """An event stream is a request whose answer takes hours."""
    (client,) = opened(connections)
    connections.mark_complete(client)
    clock.now += 10_000
    connections.close_overdue()
    assert client.fate == ""


def test_each_request_on_a_connection_has_its_own_timeout(connections: Connections, clock: Clock) -> None:
    """Earlier requests and the pauses between requests do not count."""
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


def test_connection_that_reads_no_answer_is_dropped(connections: Connections, clock: Clock) -> None:
    """A connection that was slow and has caught up is kept."""
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


def test_connection_that_does_not_read_the_timeout_answer_is_dropped(connections: Connections, clock: Clock) -> None:
    """Closing waits until the last bytes are read."""
    (client,) = opened(connections)
    clock.now += REQUEST_SECONDS + 1
    connections.close_overdue()
    clock.now += ANSWER_SECONDS + 1
    connections.close_overdue()
    assert client.fate == "dropped"


def test_new_connection_replaces_the_longest_idle_one(connections: Connections) -> None:
    """An idle connection is replaced before one with an incomplete request."""
    owing, first, second = opened(connections, 3)
    for client in (first, second):
        connections.mark_complete(client)
        connections.mark_idle(client)
    opened(connections)
    assert (owing.fate, first.fate, second.fate) == ("", "dropped", "")
    assert len(connections) == 3


def test_new_connection_replaces_the_slowest_incomplete_one(connections: Connections, clock: Clock) -> None:
    """Connections that send nothing keep no client out."""
    slowest, slow, asking = opened(connections, 3)
    connections.mark_complete(asking)
    (newcomer,) = opened(connections)
    assert [each.fate for each in (slowest, slow, asking, newcomer)] == ["dropped", "", "", ""]


def test_connection_that_waits_for_an_answer_is_never_replaced(connections: Connections) -> None:
    """When all wait for answers a new connection is refused, except for a health probe."""
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


def test_connections_that_a_new_one_may_replace_are_not_held(connections: Connections) -> None:
    idle, answered, _ = opened(connections, 3)
    for client in (idle, answered):
        connections.mark_complete(client)
    connections.mark_idle(idle)
    assert connections.count_held() == 1
    connections.mark_unread(answered)
    assert connections.count_held() == 0


def test_closed_connection_is_forgotten_and_frees_its_slot(connections: Connections, clock: Clock) -> None:
    """The sweep does nothing to it."""
    clients = opened(connections, 3)
    connections.mark_unread(clients[0])
    for client in clients:
        connections.remove(client)
    clock.now += 1000
    connections.close_overdue()
    assert len(connections) == 0
    assert {client.fate for client in clients} == {""}


def test_connection_that_reads_no_answer_is_replaced_first(connections: Connections) -> None:
    """It goes before any newcomer is refused; connections being answered keep their slots."""
    served, first, second = opened(connections, 3)
    for client in (served, first, second):
        connections.mark_complete(client)
    connections.mark_unread(first)
    connections.mark_unread(second)
    opened(connections)
    assert (served.fate, first.fate, second.fate) == ("", "dropped", "")


def test_recently_answered_connection_is_replaced_after_silent_ones(connections: Connections, clock: Clock) -> None:
    opened(connections, 2)
    clock.now += 1
    (served,) = opened(connections)
    connections.mark_complete(served)
    connections.mark_idle(served)
    opened(connections, 2)
    assert served.fate == ""
    opened(connections)
    assert served.fate == "dropped"
