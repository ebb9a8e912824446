"""What a request states of itself is parsed by the table "Who is calling" of the design."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from server.identity.request_metadata import (
    checked_budget_ms,
    checked_expected_calls,
    checked_history,
    checked_key,
    checked_session,
    checked_token_budget,
    checked_turn,
    checked_user,
    read_metadata,
)
from session.turn import IMPLICIT, TurnKind, TurnName
from tests.support.cases import cases
from tools.store.failures import InvalidArguments

P = "com.mangaassist/"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"

FIELDS = [
    ("session", "sessionId", "x-session-id", "s"),
    ("turn", "turnId", "x-turn-id", "t"),
    ("user", "userId", "x-user-id", "u"),
    ("turn_budget_ms", "turnBudgetMs", "x-turn-budget-ms", "900"),
    ("token_budget", "tokenBudget", "x-token-budget", "2500"),
    ("expected_calls", "expectedCalls", "x-expected-calls", "3"),
    ("idempotency_key", "idempotencyKey", "idempotency-key", "k"),
]


@cases(("field", "key", "header", "value"), FIELDS)
def test_meta_precedes_the_header_and_an_empty_value_is_absent(field: str, key: str, header: str, value: str) -> None:
    assert getattr(read_metadata({P + key: value}, {}), field) == value
    assert getattr(read_metadata({}, {header: value}), field) == value
    assert getattr(read_metadata({P + key: ""}, {header: value}), field) == value
    assert getattr(read_metadata({P + key: None}, {header: ""}), field) is None
    assert getattr(read_metadata({}, {}), field) is None
    if field != "user":
        assert getattr(read_metadata({P + key: value}, {header: "other"}), field) == value


def test_empty_headers_count_as_absent() -> None:
    stated = read_metadata({}, {header: "" for _, _, header, _ in FIELDS})
    assert checked_session(stated.session) is None
    assert checked_turn(stated) == IMPLICIT
    assert checked_budget_ms(stated.turn_budget_ms) is None
    assert checked_token_budget(stated.token_budget) is None
    assert checked_expected_calls(stated.expected_calls) == 1
    assert checked_key(stated.idempotency_key) is None


@cases(("meta", "header", "conflict"), [("u", "u", False), ("u", "v", True), ("u", None, False), (None, "v", False)])
def test_different_users_in_meta_and_header_are_a_conflict(meta: Any, header: str | None, conflict: bool) -> None:
    stated = read_metadata({P + "userId": meta}, {"x-user-id": header} if header else {})
    assert stated.user_conflict is conflict


def test_user_header_is_decoded_as_utf_8_else_latin_1() -> None:
    sent = Headers(raw=[(b"x-user-id", "読者・太郎 🐟".encode())])
    assert read_metadata({P + "userId": "読者・太郎 🐟"}, sent).user_conflict is False
    assert read_metadata({}, sent).user == "読者・太郎 🐟"
    assert read_metadata({}, Headers(raw=[(b"x-user-id", b"caf\xe9")])).user == "café", "an older client's Latin-1"
    assert read_metadata({}, {"x-user-id": "読者"}).user == "読者", "what was never bytes"


@cases("value", [True, False, ["u"], {"id": "u"}, [], {}])
def test_user_in_meta_that_is_no_string_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArguments, match="no text"):
        checked_user(read_metadata({P + "userId": value}, {}).user)


@cases("value", [True, ["s"], {}])
@cases("key", ["sessionId", "turnId", "idempotencyKey", "turnBudgetMs", "tokenBudget", "expectedCalls"])
def test_other_metadata_that_is_no_string_is_refused(key: str, value: Any) -> None:
    with pytest.raises(InvalidArguments):
        check_all(read_metadata({P + key: value}, {}))


def check_all(stated: Any) -> None:
    checked_session(stated.session)
    checked_turn(stated)
    checked_key(stated.idempotency_key)
    checked_user(stated.user)
    checked_budget_ms(stated.turn_budget_ms)
    checked_token_budget(stated.token_budget)
    checked_expected_calls(stated.expected_calls)


@cases("key", ["sessionId", "turnId", "idempotencyKey"])
@cases("value", ["a b", "a\n", "{x}", "é", "a/b", "x" * 129, " ", "\ud800"])
def test_malformed_identifier_is_refused_with_field_and_limit(key: str, value: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        check_all(read_metadata({P + key: value}, {}))
    (violation,) = caught.value.violations
    header = {"sessionId": "X-Session-ID", "turnId": "X-Turn-ID", "idempotencyKey": "Idempotency-Key"}[key]
    assert violation.path == f"$._meta['{P}{key}'] or {header}"
    assert "128" in violation.fix
    assert value.strip() == "" or value not in caught.value.message


@cases("value", ["a", "x" * 128, "A-z.0_9:-", 5])
def test_well_formed_identifier_is_accepted(value: str | int) -> None:
    stated = read_metadata({P + "sessionId": value, P + "turnId": value, P + "idempotencyKey": value}, {})
    check_all(stated)
    assert checked_turn(stated) == TurnName(TurnKind.NAMED, str(value))


@cases("user", ["x" * 255, "読" * 255, "a b\n🐟", "(not text)"])
def test_any_text_of_up_to_255_characters_is_a_user(user: str) -> None:
    assert checked_user(read_metadata({P + "userId": user}, {}).user) == user
    with pytest.raises(InvalidArguments, match="too long"):
        checked_user(user + "x" * 256)


@cases(("text", "ms"), [("0", 0), ("900", 900), (900, 900), (899.6, 899), ("1e3", 1000), ("1000000000", 10**9)])
def test_budget_is_parsed_as_whole_milliseconds_or_tokens(text: str | float, ms: int) -> None:
    assert (checked_budget_ms(text), checked_token_budget(text)) == (ms, ms)


@cases("text", ["", "soon", "-1", -5, "nan", "inf", "-inf", "1e999", "9" * 400, "1000000001", "0x10"])
def test_budget_out_of_range_is_refused(text: str | float) -> None:
    with pytest.raises(InvalidArguments, match="turnBudgetMs"):
        checked_budget_ms(text)
    with pytest.raises(InvalidArguments, match="tokenBudget"):
        checked_token_budget(text)


@cases("text", ["0", "101", "-1", "x", 0])
def test_expected_calls_are_one_to_a_hundred_and_a_history_has_up_to_twenty(text: str | int) -> None:
    assert [checked_expected_calls(each) for each in ("1", "2", "100")] == [1, 2, 100]
    assert [checked_history(each) for each in (None, "1", 20)] == [None, 1, 20]
    with pytest.raises(InvalidArguments, match="expectedCalls"):
        checked_expected_calls(text)
    for history in (text, 21):
        with pytest.raises(InvalidArguments) as caught:
            checked_history(history)
        assert [each.path for each in caught.value.violations] == ["$._meta['com.mangaassist/history']"], "no header has it"


def test_turn_is_named_by_turn_id_else_by_trace_else_by_session() -> None:
    assert checked_turn(read_metadata({P + "turnId": "t", "traceparent": PARENT}, {})) == TurnName(TurnKind.NAMED, "t")
    assert checked_turn(read_metadata({"traceparent": PARENT}, {})) == TurnName(TurnKind.TRACE, TRACE)
    assert checked_turn(read_metadata({}, {"traceparent": PARENT})) == IMPLICIT
    assert len({TurnName(kind, "x").field for kind in TurnKind}) == 3, "a turn named like a trace is another one"


@cases(
    "parent",
    [None, "", 5, "00-x", PARENT.upper(), PARENT.replace("00-", "ff-", 1), f"00-{'0' * 32}-b7ad6b7169203331-01", f"00-{TRACE}-{'0' * 16}-01", PARENT + "\n"],
)  # fmt: skip
def test_malformed_traceparent_is_ignored(parent: Any) -> None:
    stated = read_metadata({"traceparent": parent}, {})
    assert (stated.trace, stated.traceparent) == (None, None)


@cases(
    ("baggage", "session"),
    [
        ("session.id=abc", "abc"),
        ("user=x, session.id = abc ;prop=1 , other=2", "abc"),
        ("session.id=a%3Ab", "a:b"),
        ("session.id=a%20b", None),
        ("session.id=", None),
        ("session.idx=abc", None),
        ("nonsense,,=;", None),
        (5, None),
    ],
)
def test_session_is_read_from_baggage_and_a_malformed_one_is_ignored(baggage: Any, session: str | None) -> None:
    assert read_metadata({"baggage": baggage}, {}).session == session


def test_stated_session_precedes_baggage_and_baggage_names_no_user() -> None:
    stated = read_metadata({P + "sessionId": "own", "baggage": "session.id=abc,userId=eve"}, {})
    assert (stated.session, stated.user) == ("own", None)
    assert read_metadata({"baggage": "session.id=abc"}, {"x-session-id": "own"}).session == "own"


def test_repr_of_metadata_shows_no_user_token() -> None:
    stated = read_metadata({P + "userToken": "hunter2"}, {})
    assert stated.user_token == "hunter2"
    assert "hunter2" not in repr(stated)


JSON = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.lists(st.text(max_size=3), max_size=2)
)
KEYS = [*(P + key for _, key, _, _ in FIELDS), "baggage", "traceparent"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3))
def test_any_metadata_is_accepted_or_refused_with_violations(meta: dict[str, Any]) -> None:
    stated = read_metadata(meta, {})
    refused: InvalidArguments | None = None
    try:
        check_all(stated)
    except InvalidArguments as failure:
        refused = failure
    assert refused is None or refused.violations
