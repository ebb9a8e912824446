"""Nobody gets another customer's data, and a caller that contradicts itself is told."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from session.history import compact
from session.resilience.deadline import Deadline
from tests.support.calls import ARGUMENTS, QUERY
from tests.support.cases import cases
from tests.support.pipeline import Kit
from tests.support.store import ORDERS
from tools.contract import ToolContext
from tools.lookup_order import look_up
from tools.store.models import Order

pytestmark = pytest.mark.virtual_time


async def test_anonymous_caller_is_forbidden_to_look_up_an_order(kit: Kit) -> None:
    answer = await kit.ask("lookup_order", ARGUMENTS["lookup_order"], session="s")
    assert answer.failure == "FORBIDDEN"
    assert kit.calls_of("order") == 0


async def test_foreign_order_and_missing_order_give_the_same_answer(kit: Kit) -> None:
    answers = [
        await kit.ask("lookup_order", {"order_id": order_id}, user="u", session="s")
        for order_id in ("MNG-VVVV0001", "MNG-XXXX9999")
    ]
    told = [answer.result["structuredContent"]["error"] for answer in answers]
    for error in told:
        error["data"].pop("request_id")
    assert told[0] == told[1]
    assert told[0]["name"] == "NOT_FOUND"
    calls = (await kit.memory.recall("s", "u")).calls
    assert [call.summary for call in calls] == ["NOT_FOUND", "NOT_FOUND"]


async def test_foreign_user_id_gets_an_unpersonalised_answer_with_a_note(kit: Kit) -> None:
    """It uses no customer's orders or views, neither the caller's nor the other's, and is cached for nobody."""
    asked = {"criteria": "romance"}
    own = await kit.ask("get_recommendations", asked | {"user_id": "u"}, user="u")
    assert "purchases" in own.value["based_on"]
    assert not own.note
    nobodys = await kit.ask("get_recommendations", asked)
    reads = kit.calls_of("purchased"), kit.calls_of("recall")
    for user in ("v", None):
        answer = await kit.ask("get_recommendations", asked | {"user_id": "u"}, user=user)
        assert answer.failure is None
        assert "not the customer" in answer.note
        assert answer.value["recommendations"] == nobodys.value["recommendations"]
        assert answer.value["based_on"] == ["criteria", "popularity"]
    assert (kit.calls_of("purchased"), kit.calls_of("recall")) == reads
    assert "purchases" in (await kit.ask("get_recommendations", asked, user="v")).value["based_on"]


async def test_idempotency_key_is_refused_for_another_user_id_argument(kit: Kit) -> None:
    """The two calls have one key, and arguments that name different users."""
    asked = {"criteria": "romance"}
    assert (await kit.ask("get_recommendations", asked | {"user_id": "v"}, user="u", idempotency_key="k")).failure is None
    assert (await kit.ask("get_recommendations", asked, user="u", idempotency_key="k")).failure == "VALIDATION_ERROR"


@cases("tool", ARGUMENTS)
async def test_identity_arguments_are_ignored_and_named_in_a_note(kit: Kit, tool: str) -> None:
    given = ARGUMENTS[tool] | {"session_id": "another", "turnId": 7, "user_token": "hunter2"}
    answer = await kit.ask(tool, given, user="u", session="s")
    assert answer.failure is None
    assert "Ignored: session_id, turnId, user_token." in answer.note
    assert "hunter2" not in json.dumps(answer.result)
    assert (answer.call.session, answer.call.principal.user) == ("s", "u")


async def test_user_id_argument_has_no_effect_on_tools_that_take_none(kit: Kit) -> None:
    order = {"order_id": "MNG-UUUU0001"}
    own = await kit.ask("lookup_order", order | {"user_id": "u"}, user="u")
    assert (own.value["order_id"], own.note) == ("MNG-UUUU0001", "")
    other = await kit.ask("lookup_order", order | {"user_id": "v"}, user="u")
    assert "Ignored: user_id" in other.note
    assert other.value["order_id"] == "MNG-UUUU0001"
    assert (await kit.ask("lookup_order", order | {"user_id": "u"}, user="v")).failure == "NOT_FOUND"
    assert (await kit.ask("lookup_order", order | {"user_id": "u"})).failure == "FORBIDDEN"


@cases("user", ["ｔａｒｏ", "cafe\u0301", "読者\u200b太郎"])
async def test_own_user_id_is_accepted_in_any_unicode_composition(kit: Kit, user: str) -> None:
    answer = await kit.ask("get_recommendations", {"criteria": "x", "user_id": user}, user=user)
    assert answer.failure is None


async def test_lookup_without_a_number_lists_only_the_callers_latest_orders(kit: Kit) -> None:
    """Their states are in a shopper's words; an anonymous caller gets none."""
    listed = await kit.ask("lookup_order", {}, user="u", session="s")
    assert [row["order_id"] for row in listed.value["orders"]] == ["MNG-UUUU0001"]
    assert listed.value["orders"][0]["status"] == "in_transit"
    assert (await kit.ask("lookup_order", {}, user="w")).value == {
        "kind": "latest_orders",
        "orders": [],
        "note": "This customer has no orders.",
    }
    asked = kit.calls_of("latest")
    assert (await kit.ask("lookup_order", {})).failure == "FORBIDDEN"
    assert kit.calls_of("latest") == asked
    assert [event.audited for event in kit.events] == [{}, {}, {}]
    past = await kit.memory.recall("s", "u")
    assert "MNG-" not in "".join(compact(call.as_dict()) for call in past.calls)


@cases(("hours", "late"), [(0, False), (24, True)])
async def test_lateness_is_judged_by_the_clock_of_the_store(kit: Kit, hours: int, late: bool) -> None:
    order = replace(ORDERS[0][1], estimated_delivery="2026-10-03")

    class Orders:
        async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
            return (order,)

    moment = datetime(2026, 10, 3, 3, tzinfo=UTC) + timedelta(hours=hours)
    store = replace(kit.store, orders=Orders(), now=lambda: moment)  # type: ignore[arg-type]
    told = await look_up(ToolContext(store, "u", Deadline.after(5)), {})
    assert told["orders"][0]["late"] is late


@cases("tool", ARGUMENTS)
@cases("wrong", [False, True])
async def test_every_answer_can_carry_a_note_in_its_only_text_block(kit: Kit, tool: str, wrong: bool) -> None:
    """The kit checks each answer against the tool's schema, and its text against the answer."""
    arguments = ARGUMENTS[tool] | ({"max_results": "all", "colour": 1} if wrong else {"turn_id": "t"})
    answer = await kit.ask(tool, arguments, user="u", session="s", turn="t", turn_budget_ms=600)
    assert answer.failure == ("VALIDATION_ERROR" if wrong else None)
    assert ("Ignored: turn_id" in answer.note, "nearly used up" in answer.note) == (not wrong, not wrong)


async def test_note_about_many_ignored_identity_arguments_is_short(kit: Kit) -> None:
    names = {"session" + "_" * n + "id": "x" for n in range(1, 25)} | {"session\u200b_id": 1, "SESSION-ID": 2}
    answer = await kit.ask("search_manga_catalog", QUERY | names)
    assert answer.failure is None
    assert len(answer.note) < 300
    odd = await kit.ask("search_manga_catalog", QUERY | {"session_id 次の指示": 1})
    assert odd.failure == "VALIDATION_ERROR"
