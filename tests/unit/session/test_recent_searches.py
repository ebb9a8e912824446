"""What a process knows of the last searches by itself, for when Redis does not."""

from __future__ import annotations

from session import recent
from session.begin import BeginRequest, Begun
from session.history import RECOMMENDATIONS, LastShown, read_shared
from session.recent import RecentState
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


def begun(*ids: str, degraded: bool = False, shown: LastShown | None = None, **shared: str) -> Begun:
    """What Redis says: it has shown these `ids`, and knows `shared` of SHARED."""
    last = shown or (LastShown(ids, (), "q") if ids else None)
    said = {**(last.fields if last else {}), **shared}
    fields: dict[bytes, bytes | None] = {name.encode(): value.encode() for name, value in said.items()}
    turn = Turn(TurnName(TurnKind.NAMED, "t1"), 3000, Deadline.after(3))
    return Begun(asked(), turn, last=last, shared=read_shared(fields), degraded=degraded, said=fields)


def kept(known: RecentState, request: BeginRequest | None = None, *, written: bool = True) -> None:
    left = known.keep(request or asked(), SHOWN, {})
    if written:
        known.mark_written(left)


def test_redis_away_the_last_search_of_this_process_counts() -> None:
    """Whether or not it was written while Redis was there."""
    known = RecentState()
    kept(known)
    assert known.fill(asked("t2"), begun(degraded=True)).last == SHOWN


def test_what_redis_remembers_counts_for_more_than_what_was_written() -> None:
    """Another process may have written since."""
    known = RecentState()
    kept(known)
    assert known.fill(asked("t2"), begun("manga-000009")).last_ids == ("manga-000009",)


def test_what_redis_has_said_counts_when_it_is_away() -> None:
    """Another process may have shown more since this one did."""
    known = RecentState()
    kept(known)
    known.fill(asked("t2"), begun("manga-000009", title_id="manga-000009", title="Nine", order_id=""))
    away = known.fill(asked("t3"), begun(degraded=True))
    assert (away.last_ids, away.shared) == (("manga-000009",), {"title_id": "manga-000009", "title": "Nine"})


def test_what_is_not_known_any_more_is_not_made_good() -> None:
    """Another process has shown several titles since, in the same turn: none of them is meant by itself."""
    known = RecentState()
    known.mark_written(known.keep(asked(), None, {"title_id": "manga-000001", "title": "One"}))
    assert known.fill(asked(), begun("manga-000008", "manga-000009", title_id="", title="")).shared == {}


def test_only_what_was_not_written_is_still_to_be() -> None:
    known = RecentState()
    kept(known)
    order = known.keep(asked(), None, {"order_id": "MNG-DEMO1001"})
    assert known.list_unwritten("s", "u") == order
    assert known.list_owners_behind() == [("s", "u")]
    known.mark_written(order)
    assert (known.list_unwritten("s", "u"), known.list_owners_behind()) == ([], [])


def test_a_memory_lost_in_the_middle_of_a_turn_is_made_good_and_later_it_is_over() -> None:
    """A Redis that came back empty, or whose clock jumped."""
    known = RecentState()
    kept(known)
    made_good = known.fill(asked(), begun())
    assert (made_good.last_ids, made_good.forgotten) == (IDS, True), "and it is said that nobody else knows"
    assert known.fill(asked("t2"), begun()).last_ids == ()


def test_calls_at_the_same_time_are_no_memory_lost() -> None:
    """Redis was asked before the other call had written: it has forgotten nothing."""
    clock = HandClock()
    known = RecentState(clock)
    asked_at = clock()
    clock.advance(0.01)
    kept(known)
    beside = known.fill(asked(), begun(), asked_at)
    assert (beside.last_ids, beside.forgotten) == (IDS, False)


def test_a_later_search_that_found_nothing_is_not_made_good() -> None:
    """Nothing found is an answer, and not the same as nothing known."""
    known = RecentState()
    kept(known)
    nothing = LastShown((), (), "no such thing")
    assert known.fill(asked(), begun(shown=nothing)).last == nothing


def test_nobody_gets_what_another_searched() -> None:
    """Neither another user of the session nor another session, nor a caller without one."""
    known = RecentState()
    kept(known)
    for other in (asked(user="v"), asked(user=None), asked(session="z"), asked(session=None)):
        assert known.fill(other, begun(degraded=True)).last_ids == ()


def test_a_forgotten_session_is_forgotten_here_too() -> None:
    """DELETE /sessions means all of it."""
    known = RecentState()
    kept(known)
    known.forget("s", "u")
    assert known.fill(asked(), begun(degraded=True)).last_ids == ()


def test_a_result_set_is_found_by_its_name_whoever_asks() -> None:
    """Its name is the hash of its ids: nothing of a user is in it."""
    known = RecentState()
    known.keep_set("rs", IDS)
    assert known.fill(asked(user="v", result_set="rs"), begun()).result_set == IDS
    assert known.fill(asked(result_set="other"), begun()).result_set is None


def test_it_is_forgotten_after_half_an_hour_and_bounded() -> None:
    """As in Redis; and a process is no place for everybody's."""
    clock = HandClock()
    known = RecentState(clock)
    kept(known, written=False)
    clock.advance(recent.SECONDS + 1)
    assert known.fill(asked(), begun(degraded=True)).last_ids == ()
    assert known.list_owners_behind() == []
    for number in range(recent.CAPACITY + 1):
        kept(known, asked(session=f"s{number}"))
        known.keep_set(f"rs{number}", IDS)
    assert known.fill(asked(session="s0", result_set="rs0"), begun(degraded=True)).last_ids == ()
    assert known.fill(asked(session="s1"), begun(degraded=True)).last_ids == IDS


def test_a_conversation_that_goes_on_outlives_newer_ones_that_do_not() -> None:
    known = RecentState()
    kept(known)
    known.keep_set("rs", IDS)
    for number in range(recent.CAPACITY + 10):
        if not number % (recent.CAPACITY // 2):
            known.fill(asked(result_set="rs"), begun(*IDS))
        kept(known, asked(session=f"s{number}"))
        known.keep_set(f"rs{number}", IDS)
    found = known.fill(asked(result_set="rs"), begun(degraded=True))
    assert (found.last_ids, found.result_set) == (IDS, IDS)


def test_however_many_conversations_there_are_and_however_long_what_they_leave_is_bounded_in_bytes() -> None:
    """By conversations, and by result sets; the last of them are known."""
    known, most, text = RecentState(), recent.MOST_BYTES, "x" * 100_000
    for number in range(4 * most // len(text)):
        session, ids = f"s{number}", (text, str(number))
        known.keep(asked(session=session), LastShown(IDS, (), f"{text}{number}"), {})
        known.keep_set(session, ids)
        assert known.left.bytes <= most
    assert (
        most / 2 < sum(len(left.fields.get("query", "")) for each in known.left.values() for left in each.values()) <= most
    )
    assert known.fill(asked("t2", session), begun(degraded=True)).last is not None
    read = [f"s{n}" for n in range(number) if known.fill(asked(session=None, result_set=f"s{n}"), begun()).result_set]
    assert most / 2 < len(read) * len(text) <= most
