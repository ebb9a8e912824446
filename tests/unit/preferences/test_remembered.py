"""What goes with a call of what is remembered, and what is told of it where it may outlast the words."""

from __future__ import annotations

from session.preferences import Preference
from tools.conditions.remembered import LONGEST_QUOTE, apply_preferences, quote_text, without_words
from tools.store.models import Conditions, Range
from tools.store.preferences import Heard, Stance
from tools.store.search.reading.reading import Reading, Understood

CHEAP = Conditions(price=Range(None, 700), without_tags=("Gore",))
SAID = (
    Understood("at most 700 yen a volume", "x", about=("price",)),
    Understood("without Gore", "y", about=("without_tags",)),
)
HEARD = Heard(Preference("cheap and clean", "2026-11-23"), Reading("", "", CHEAP, understood=SAID), Stance(CHEAP), CHEAP)


def test_what_the_call_does_not_speak_of_goes_with_it_in_the_words_it_was_understood_in() -> None:
    told = apply_preferences((HEARD,), Stance(), another=False)
    assert told.conditions == CHEAP
    assert [each.condition for each in told.understood] == ["at most 700 yen a volume, without Gore"]


def test_of_what_the_call_speaks_of_the_rest_is_told() -> None:
    told = apply_preferences((HEARD,), Stance(welcome=frozenset({"Gore"})), another=False)
    assert told.conditions == Conditions(price=CHEAP.price)
    assert [(each.condition, each.obeyed) for each in told.understood] == [("at most 700 yen a volume", True)]


def test_for_another_the_budget_alone_holds() -> None:
    assert apply_preferences((HEARD,), Stance(), another=True).conditions == Conditions(price=CHEAP.price)
    taste = Conditions(without_tags=("Gore",))
    heard = Heard(HEARD.preference, Reading("", "", taste, understood=SAID[1:]), Stance(taste), taste)
    (told,) = apply_preferences((heard,), Stance(), another=True).understood
    assert (told.obeyed, "somebody else" in told.condition) == (False, True)


def test_a_long_one_is_told_by_its_beginning() -> None:
    assert quote_text("x" * LONGEST_QUOTE) == "x" * LONGEST_QUOTE
    assert quote_text("x" * 200) == "x" * LONGEST_QUOTE + "…"


def test_what_outlasts_the_words_is_without_them() -> None:
    rows = [{"condition": "finished", "from": "finished"}, {"condition": "without Gore", "from": "remembered: no gore"}]
    kept = without_words({"total": 1, "understood": rows})
    assert kept == {"total": 1, "understood": [rows[0], {"condition": "without Gore", "from": "remembered"}]}
    assert without_words({"total": 1}) == {"total": 1}
