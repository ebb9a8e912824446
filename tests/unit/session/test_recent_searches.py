"""What a process knows of the last searches by itself, for when Redis does not."""

from __future__ import annotations

from dataclasses import replace

from session.begin import BeginRequest, Begun
from session.history import RECOMMENDATIONS, LastShown
from session.local import recent
from session.local.recent import RecentSearches
from session.resilience.deadline import Deadline
from session.turn import Turn, TurnKind, TurnName, TurnRequest
from tests.support.clocks import HandClock

IDS = ("manga-000001", "manga-000002")
SHOWN = LastShown(IDS, ("One", "Two"), "q", RECOMMENDATIONS)


def asked(
    turn: str = "t1", session: str | None = "s", user: str | None = "u", result_set: str | None = None
) -> BeginRequest:
    name = TurnName(TurnKind.NAMED, turn)
    return BeginRequest(session, user, TurnRequest(turn, name, 0.0), limited=False, result_set=result_set)


def begun(*ids: str, degraded: bool = False) -> Begun:
    last = LastShown(ids, (), "q") if ids else None
    return Begun(Turn(TurnName(TurnKind.NAMED, "t1"), 3000, Deadline.after(3)), last=last, degraded=degraded)


def test_redis_away_the_last_search_of_this_process_counts() -> None:
    """Whether or not it was written while Redis was there."""
    known = RecentSearches()
    known.keep(asked(), SHOWN, "rs")
    known.written(asked())
    assert known.fill(asked("t2"), begun(degraded=True)).last == SHOWN


def test_what_redis_remembers_counts_for_more_than_what_was_written() -> None:
    """Another process may have written since."""
    known = RecentSearches()
    known.keep(asked(), SHOWN, "rs")
    known.written(asked())
    assert known.fill(asked("t2"), begun("manga-000009")).last_ids == ("manga-000009",)


def test_a_search_that_redis_did_not_take_is_the_last_one() -> None:
    """The one that Redis has is older."""
    known = RecentSearches()
    known.keep(asked(), SHOWN, "rs")
    assert known.fill(asked("t2"), begun("manga-000009")).last_ids == IDS


def test_a_memory_lost_in_the_middle_of_a_turn_is_made_good_and_later_it_is_over() -> None:
    """A Redis that came back empty, or whose clock jumped."""
    known = RecentSearches()
    known.keep(asked(), SHOWN, "rs")
    known.written(asked())
    assert known.fill(asked(), begun()).last_ids == IDS
    assert known.fill(asked("t2"), begun()).last_ids == ()


def test_a_later_search_that_found_nothing_is_not_made_good() -> None:
    """Nothing found is an answer, and not the same as nothing known."""
    known = RecentSearches()
    known.keep(asked(), SHOWN, "rs")
    known.written(asked())
    nothing = LastShown((), (), "no such thing")
    assert known.fill(asked(), replace(begun(), last=nothing)).last == nothing


def test_nobody_gets_what_another_searched() -> None:
    """Neither another user of the session nor another session, nor a caller without one."""
    known = RecentSearches()
    known.keep(asked(), SHOWN, "rs")
    for other in (asked(user="v"), asked(user=None), asked(session="z"), asked(session=None)):
        assert known.fill(other, begun(degraded=True)).last_ids == ()


def test_a_forgotten_session_is_forgotten_here_too() -> None:
    """DELETE /sessions means all of it."""
    known = RecentSearches()
    known.keep(asked(), SHOWN, "rs")
    known.forget("s", "u")
    assert known.fill(asked(), begun(degraded=True)).last_ids == ()


def test_a_result_set_is_found_by_its_name_whoever_asks() -> None:
    """Its name is the hash of its ids: nothing of a user is in it."""
    known = RecentSearches()
    known.keep(asked(session=None), SHOWN, "rs")
    assert known.fill(asked(user="v", result_set="rs"), begun()).result_set == IDS
    assert known.fill(asked(result_set="other"), begun()).result_set is None


def test_it_is_forgotten_after_half_an_hour_and_bounded() -> None:
    """As in Redis; and a process is no place for everybody's."""
    clock = HandClock()
    known = RecentSearches(clock)
    known.keep(asked(), SHOWN, "rs")
    clock.advance(recent.SECONDS + 1)
    assert known.fill(asked(), begun(degraded=True)).last_ids == ()
    for number in range(recent.CAPACITY + 1):
        known.keep(asked(session=f"s{number}"), SHOWN, f"rs{number}")
    assert known.fill(asked(session="s0", result_set="rs0"), begun(degraded=True)).last_ids == ()
    assert known.fill(asked(session="s1"), begun(degraded=True)).last_ids == IDS


def test_a_conversation_that_goes_on_outlives_newer_ones_that_do_not() -> None:
    known = RecentSearches()
    known.keep(asked(), SHOWN, "rs")
    for number in range(recent.CAPACITY + 10):
        if not number % (recent.CAPACITY // 2):
            known.fill(asked(result_set="rs"), begun("manga-000009"))
        known.keep(asked(session=f"s{number}"), SHOWN, f"rs{number}")
    found = known.fill(asked(result_set="rs"), begun(degraded=True))
    assert (found.last_ids, found.result_set) == (IDS, IDS)
