"""A contradiction between wanted and excluded conditions is named, and nothing else is."""

from __future__ import annotations

from tests.support.cases import cases
from tools.conditions.wanted import RULED_OUT, ruled_out
from tools.store.models import Conditions


@cases(
    ("text", "conditions", "without", "named"),
    [
        ("romance", Conditions(without_tags=("Romance",)), ("romance",), "Romance"),
        ("恋愛もの", Conditions(without_tags=("Romance", "Harem")), (), "Romance"),
        ("", Conditions(tags=(("Award Winning",),), without_tags=("Award Winning",)), (), "Award Winning"),
        ("", Conditions(genres=("shonen",), without_genres=("shonen",)), ("shonen",), "shonen"),
        ("", Conditions(author="Eiichiro Oda", without_authors=("Oda",)), ("Oda",), "Eiichiro Oda"),
        ("One Piece", Conditions(without_titles=("t-1",)), ("one piece",), "one piece"),
    ],
)
def test_contradiction_of_wanted_and_excluded_is_named(
    text: str, conditions: Conditions, without: tuple[str, ...], named: str
) -> None:
    assert ruled_out(text, conditions, without) == (RULED_OUT.format(named),)


@cases(
    ("text", "conditions", "without"),
    [
        ("sports", Conditions(without_tags=("Baseball",)), ("baseball",)),
        ("romance", Conditions(without_tags=("Boys Love",)), ("bl",)),
        ("romance", Conditions(), ()),
        ("", Conditions(genres=("shonen", "seinen"), without_genres=("shonen",)), ("shonen",)),
        ("", Conditions(author="Eiichiro Oda", without_authors=("Kishimoto",)), ("Kishimoto",)),
        ("One Piece", Conditions(without_titles=("t-2",)), ("Naruto",)),
    ],
)
def test_compatible_conditions_are_reported_as_no_contradiction(
    text: str, conditions: Conditions, without: tuple[str, ...]
) -> None:
    assert ruled_out(text, conditions, without) == ()
