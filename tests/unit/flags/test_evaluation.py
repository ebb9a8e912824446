"""A flag decides for which caller its tool is on, and states the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from server.call import Principal
from server.flags.document import Decision, kind
from tests.support.cases import cases
from tests.support.flags import flags_of
from tests.support.pipeline import registered

TOOL = registered("check_inventory").tool
EXPERIMENT = replace(TOOL, default_on=False)
STATED, VOUCHED = Principal(user="u"), Principal("agent", "u")
SIGNED = Principal("shop-app", "u", frozenset({"mcp:manga-tools:beta"}))
ANYBODY = Principal()


def decided(flag: Any, principal: Principal = ANYBODY, session: str | None = None) -> Decision:
    return flags_of(check_inventory=flag).decide(TOOL, principal, session)


def segment(name: str, about: str, operator: str, *values: str, rollout: float = 100) -> dict[str, Any]:
    condition = {"property": about, "operator": operator, "value": list(values)}
    return {"name": name, "rollout": rollout, "conditions": [condition]}


def test_tool_without_a_flag_keeps_its_default() -> None:
    flags = flags_of(lookup_order=False)
    assert flags.decide(TOOL, ANYBODY).on
    found = flags.decide(EXPERIMENT, ANYBODY)
    assert (found.on, found.variant) == (False, "off")
    assert "experiment" in found.why
    assert flags_of(check_inventory=True).decide(EXPERIMENT, ANYBODY).on


def test_boolean_flag_holds_for_everybody() -> None:
    assert decided(True) == Decision(True, "on", "the flag: for everybody")
    assert decided(False, SIGNED) == Decision(False, "off", "the flag: off for everybody")


def test_share_goes_by_user_and_without_one_by_session() -> None:
    fifth = {"percent": 20}
    users = [decided(fifth, Principal(user=f"u{n}"), "s") for n in range(2000)]
    sessions = [decided(fifth, ANYBODY, f"s{n}") for n in range(2000)]
    for each in (users, sessions):
        assert 300 < sum(found.on for found in each) < 500
        assert {(found.on, found.variant) for found in each} == {(True, "on"), (False, "off")}
    assert {found.why for found in users} == {"the flag: in its 20 %, by user", "the flag: outside its 20 %, by user"}
    assert sessions[0].why.endswith("by session")
    nobody = decided(fifth)
    assert not nobody.on
    assert "neither user nor session" in nobody.why


def test_cohort_of_a_user_ignores_session_client_scopes_and_other_flags() -> None:
    """Neither a session nor a client nor scopes, nor other flags of the document."""
    for number in range(200):
        user = f"u{number}"
        first = decided({"percent": 20}, Principal(user=user)).on
        for known in (Principal("agent", user), Principal("app", user, frozenset({"mcp:manga-tools:beta"}))):
            assert decided({"percent": 20}, known, f"s{number}").on is first
            assert decided({"segments": [{"name": "a", "rollout": 20}]}, known).on is first
            assert flags_of(check_inventory={"percent": 20}, lookup_order=False).decide(TOOL, known).on is first


@cases(
    ("about", "value", "who"),
    [
        ("user", "u", {STATED, VOUCHED, SIGNED}),
        ("user", "other", set()),
        ("principal", "anonymous", {ANYBODY}),
        ("principal", "stated", {STATED}),
        ("principal", "agent", {VOUCHED}),
        ("principal", "token", {SIGNED}),
        ("client", "shop-app", {SIGNED}),
        ("scopes", "mcp:manga-tools:beta", {SIGNED}),
        ("scopes", "beta", set()),
    ],
)
def test_condition_matches_verified_facts_only(about: str, value: str, who: set[Principal]) -> None:
    flag = {"segments": [segment("some", about, "in", value)]}
    assert {each for each in (ANYBODY, STATED, VOUCHED, SIGNED) if decided(flag, each).on} == who


def test_unknown_fact_satisfies_no_condition() -> None:
    """This holds for `not_in` too: a caller gains nothing by stating nothing."""
    flag = {"segments": [segment("others", "user", "not_in", "v")]}
    assert decided(flag, STATED).on
    assert not decided(flag, Principal(user="v")).on
    assert not decided(flag, ANYBODY).on
    assert not decided({"segments": [segment("others", "scopes", "not_in", "x")]}, STATED).on


def test_principal_without_a_user_is_anonymous() -> None:
    assert kind(Principal("agent")) == kind(Principal("app", None, frozenset())) == "anonymous"


def test_first_matching_segment_decides() -> None:
    """As in Flagpole, a caller who matches a segment and is outside its share is not tried with the next segment."""
    flag = {"segments": [segment("staff", "user", "in", "u", rollout=0), {"name": "everybody"}]}
    assert decided(flag, STATED).on is False
    found = decided(flag, Principal(user="v"))
    assert (found.on, found.variant, found.why) == (True, "everybody", "segment 'everybody': for everybody")
    found = decided({"segments": [segment("zz", "user", "in", "u")]}, STATED)
    assert found.why == "segment 'zz': for everybody whom its conditions are about"
    assert decided({"percent": 99.5}, STATED).why == "the flag: in its 99.5 %, by user"


def test_segment_needs_all_of_its_conditions() -> None:
    both = segment("both", "user", "in", "u")
    both["conditions"] += segment("", "principal", "in", "token")["conditions"]
    assert decided({"segments": [both]}, SIGNED).variant == "both"
    assert decided({"segments": [both]}, STATED) == Decision(False, "off", "none of the flag's segments applies")


def test_reason_of_a_decision_names_no_user() -> None:
    flag = {"segments": [segment("some", "user", "in", "hunter2", rollout=50)]}
    assert "hunter2" not in decided(flag, Principal(user="hunter2")).why


@cases(
    ("flag", "depends"),
    [
        (True, False),
        (False, False),
        ({"percent": 0}, False),
        ({"percent": 100}, False),
        ({"percent": 50}, True),
        ({"segments": []}, False),
        ({"segments": [{"name": "all"}, segment("never asked", "user", "in", "u", rollout=50)]}, False),
        ({"segments": [segment("some", "user", "in", "u")]}, True),
    ],
    ids=str,
)
def test_flag_reports_whether_it_depends_on_the_user(flag: Any, depends: bool) -> None:
    assert flags_of(check_inventory=flag).depends_on_user(TOOL) is depends
    assert not flags_of(lookup_order=flag).depends_on_user(TOOL)
