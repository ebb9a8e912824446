"""A process remembers the last searches itself, for when Redis is away."""

from __future__ import annotations

from dataclasses import replace

from session import recent
from session.begin import BeginRequest, BeginResult
from session.history import RECOMMENDATIONS, LastShown, read_shared
from session.recent import RecentState
from session.resilience.deadline import Deadline
from session.turn import Turn, TurnKind, TurnName, TurnRequest
from tests.support.cases import cases
from tests.support.clocks import HandClock

IDS = ("manga-000001", "manga-000002")
SHOWN = LastShown(IDS, ("One", "Two"), "q", RECOMMENDATIONS)


def asked(
    turn: str = "t1", session: str | None = "s", user: str | None = "u", result_set: str | None = None
) -> BeginRequest:
    name = TurnName(TurnKind.NAMED, turn)
    return BeginRequest(session, user, TurnRequest(turn, name, 0.0), result_set=result_set)


def begun(*ids: str, degraded: bool = False, shown: LastShown | None = None, **shared: str) -> BeginResult:
    """What Redis says: it has shown these `ids`, and knows `shared` of SHARED."""
    last = shown or (LastShown(ids, (), "q") if ids else None)
    said = {**(last.fields if last else {}), **shared}
    fields: dict[bytes, bytes | None] = {name.encode(): value.encode() for name, value in said.items()}
    turn = Turn(TurnName(TurnKind.NAMED, "t1"), 3000, Deadline.after(3))
    return BeginResult(asked(), turn, last=last, shared=read_shared(fields), degraded=degraded, stored_fields=fields)


def kept(known: RecentState, request: BeginRequest | None = None, *, written: bool = True) -> None:
    left = known.keep(request or asked(), SHOWN, {})
    if written:
        known.mark_written(left)


def test_last_search_of_this_process_counts_while_redis_is_away() -> None:
    """It counts whether or not it was written while Redis was up."""
    known = RecentState()
    kept(known)
    assert known.fill(asked("t2"), begun(degraded=True)).last == SHOWN


def test_last_search_in_redis_precedes_that_of_this_process() -> None:
    """Another process may have written it since."""
    known = RecentState()
    kept(known)
    assert known.fill(asked("t2"), begun("manga-000009")).last_ids == ("manga-000009",)


def test_last_state_read_from_redis_counts_while_redis_is_away() -> None:
    """It may be another process's, and later than this process's own."""
    known = RecentState()
    kept(known)
    known.fill(asked("t2"), begun("manga-000009", title_id="manga-000009", title="Nine", order_id=""))
    away = known.fill(asked("t3"), begun(degraded=True))
    assert (away.last_ids, away.shared) == (("manga-000009",), {"title_id": "manga-000009", "title": "Nine"})


def test_subject_that_redis_has_cleared_is_not_restored() -> None:
    """Another process has shown several titles in the same turn since, so none of them is the current one."""
    known = RecentState()
    known.mark_written(known.keep(asked(), None, {"title_id": "manga-000001", "title": "One"}))
    assert known.fill(asked(), begun("manga-000008", "manga-000009", title_id="", title="")).shared == {}


def test_only_unwritten_state_is_listed_as_still_to_be_written() -> None:
    known = RecentState()
    kept(known)
    order = known.keep(asked(), None, {"order_id": "MNG-DEMO1001"})
    assert known.list_unwritten("s", "u") == order
    assert known.list_owners_behind() == [("s", "u")]
    known.mark_written(order)
    assert (known.list_unwritten("s", "u"), known.list_owners_behind()) == ([], [])


def test_state_lost_by_redis_within_a_turn_is_restored_and_not_in_the_next_turn() -> None:
    """Redis came back empty, or its clock jumped."""
    known = RecentState()
    kept(known)
    made_good = known.fill(asked(), begun())
    assert (made_good.last_ids, made_good.lost_by_redis) == (IDS, True), "and it is said that nobody else knows"
    assert known.fill(asked("t2"), begun()).last_ids == ()


def test_concurrent_call_before_a_write_is_not_taken_for_lost_memory() -> None:
    """Redis was read before the other call wrote, and has lost nothing."""
    clock = HandClock()
    known = RecentState(clock)
    asked_at = clock()
    clock.advance(0.01)
    kept(known)
    beside = known.fill(asked(), begun(), asked_at)
    assert (beside.last_ids, beside.lost_by_redis) == (IDS, False)


def test_later_search_without_results_is_not_replaced_by_an_earlier_one() -> None:
    """An empty result is an answer, and differs from no search."""
    known = RecentState()
    kept(known)
    nothing = LastShown((), (), "no such thing")
    assert known.fill(asked(), begun(shown=nothing)).last == nothing


def test_state_of_a_session_is_never_given_to_another_user_or_session() -> None:
    """A caller without a session does not get it either."""
    known = RecentState()
    kept(known)
    for other in (asked(user="v"), asked(user=None), asked(session="z"), asked(session=None)):
        assert known.fill(other, begun(degraded=True)).last_ids == ()


def test_forgotten_session_is_removed_from_the_process_too() -> None:
    """DELETE /sessions removes all of its state."""
    known = RecentState()
    kept(known)
    known.forget("s", "u")
    assert known.fill(asked(), begun(degraded=True)).last_ids == ()


def test_result_set_is_found_by_its_name_for_any_user() -> None:
    """The name is the hash of the ids and contains nothing of a user."""
    known = RecentState()
    known.keep_set("rs", IDS)
    assert known.fill(asked(user="v", result_set="rs"), begun()).result_set == IDS
    assert known.fill(asked(result_set="other"), begun()).result_set is None


def test_recent_state_expires_after_half_an_hour_and_is_bounded_in_entries() -> None:
    """The lifetime is that of Redis; the bound keeps the process small."""
    clock = HandClock()
    known = RecentState(clock)
    kept(known, written=False)
    clock.advance(30 * 60)
    assert known.fill(asked(), begun(degraded=True)).last_ids == IDS
    assert known.list_owners_behind() == [("s", "u")]
    clock.advance(1)
    assert known.fill(asked(), begun(degraded=True)).last_ids == ()
    assert known.list_owners_behind() == []
    for number in range(recent.CAPACITY + 1):
        kept(known, asked(session=f"s{number}"))
        known.keep_set(f"rs{number}", IDS)
    assert known.fill(asked(session="s0", result_set="rs0"), begun(degraded=True)).last_ids == ()
    assert known.fill(asked(session="s1"), begun(degraded=True)).last_ids == IDS


@cases(
    ("ended", "clock_ms", "over"),
    [(b"5000", 6000, False), (b"5001", 6000, True), (b"5001", 6001, False), (None, 6000, False), (b"5001", None, False)],
)
def test_state_of_before_the_end_of_its_session_is_over(ended: bytes | None, clock_ms: int | None, over: bool) -> None:
    """Redis, asked a second after the write, tells its clock and when another process ended the session."""
    known = RecentState(HandClock(10.0))
    (left,) = known.keep(asked(), SHOWN, {})
    said = replace(begun(degraded=True), stored_fields={b"ended": ended}, clock_ms=clock_ms)
    assert recent.is_over(left, said, 11.0) is over
    assert known.fill(asked(), said, 11.0).last_ids == (() if over else IDS)


def test_conversation_in_use_is_evicted_after_newer_unused_ones() -> None:
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


def test_recent_state_is_bounded_in_bytes() -> None:
    """The bound covers conversations and result sets; the latest of them are kept."""
    known, most, text = RecentState(), recent.MOST_BYTES, "x" * 100_000
    for number in range(4 * most // len(text)):
        session, ids = f"s{number}", (text, str(number))
        known.keep(asked(session=session), LastShown(IDS, (), f"{text}{number}"), {})
        known.keep_set(session, ids)
        assert known.writes.bytes <= most
    assert (
        most / 2 < sum(len(left.fields.get("query", "")) for each in known.writes.values() for left in each.values()) <= most
    )
    assert known.fill(asked("t2", session), begun(degraded=True)).last is not None
    read = [f"s{n}" for n in range(number) if known.fill(asked(session=None, result_set=f"s{n}"), begun()).result_set]
    assert most / 2 < len(read) * len(text) <= most
