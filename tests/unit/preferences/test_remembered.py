"""Remembered preferences are applied to a call, and stored results do not quote their words."""

from __future__ import annotations

from session.preferences import Preference
from tools.conditions.remembered import apply_preferences, quote_text, without_words
from tools.store.models import Conditions, Range
from tools.store.preferences import ParsedPreference, Stance
from tools.store.search.reading.reading import Reading, Understood

CHEAP = Conditions(price=Range(None, 700), without_tags=("Gore",))
SAID = (
    Understood("at most 700 yen a volume", "x", about=("price",)),
    Understood("without Gore", "y", about=("without_tags",)),
)
HEARD = ParsedPreference(
    Preference("cheap and clean", "2026-11-23"), Reading("", "", CHEAP, understood=SAID), Stance(CHEAP), CHEAP
)


def test_remembered_conditions_are_applied_where_the_call_says_nothing_of_them() -> None:
    conditions, understood = apply_preferences((HEARD,), Stance(), another=False)
    assert conditions == CHEAP
    assert [each.condition for each in understood] == ["at most 700 yen a volume, without Gore"]


def test_remembered_conditions_are_dropped_where_the_call_contradicts_them() -> None:
    conditions, understood = apply_preferences((HEARD,), Stance(welcome=frozenset({"Gore"})), another=False)
    assert conditions == Conditions(price=CHEAP.price)
    assert [(each.condition, each.obeyed) for each in understood] == [("at most 700 yen a volume", True)]


def test_only_the_remembered_budget_applies_when_somebody_else_is_to_read() -> None:
    assert apply_preferences((HEARD,), Stance(), another=True)[0] == Conditions(price=CHEAP.price)
    taste = Conditions(without_tags=("Gore",))
    heard = ParsedPreference(HEARD.preference, Reading("", "", taste, understood=SAID[1:]), Stance(taste), taste)
    _, (told,) = apply_preferences((heard,), Stance(), another=True)
    assert (told.obeyed, "somebody else" in told.condition) == (False, True)


def test_long_preference_is_quoted_by_its_first_characters() -> None:
    assert quote_text("x" * 80) == "x" * 80
    assert quote_text("x" * 81) == "x" * 80 + "…"


def test_stored_result_quotes_no_remembered_words() -> None:
    rows = [{"condition": "finished", "from": "finished"}, {"condition": "without Gore", "from": "remembered: no gore"}]
    kept = without_words({"total": 1, "understood": rows})
    assert kept == {"total": 1, "understood": [rows[0], {"condition": "without Gore", "from": "remembered"}]}
    assert without_words({"total": 1}) == {"total": 1}
