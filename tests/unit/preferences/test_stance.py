"""Which of two preferences on the same matter holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from session.preferences import Preference
from tests.support.cases import cases
from tests.support.reading import read
from tools.preferences.answers import replaces
from tools.store.models import Audience, Conditions, Range, Status
from tools.store.preferences import ParsedPreference, Stance, stance_of
from tools.store.search.reading.reading import Freedom, Reading

NO_GORE = Conditions(without_tags=("Gore", "Horror"))
BUDGET = Conditions(price=Range(None, 700))


@cases(
    ("now", "older", "left"),
    [
        (Stance(), NO_GORE, NO_GORE),
        (Stance(welcome=frozenset({"Gore"})), NO_GORE, Conditions(without_tags=("Horror",))),
        (Stance(Conditions(tags=(("Gore",), ("Horror",)))), NO_GORE, Conditions()),
        (Stance(NO_GORE), NO_GORE, NO_GORE),
        (Stance(Conditions(price=Range(1000, None))), BUDGET, Conditions()),
        (Stance(Conditions(statuses=(Status.PUBLISHING,))), BUDGET, BUDGET),
        (
            Stance(Conditions(genres=("shojo",))),
            Conditions(without_genres=("shojo", "shonen")),
            Conditions(without_genres=("shonen",)),
        ),
        (Stance(welcome_genres=frozenset({"b"})), Conditions(without_genres=("a", "b")), Conditions(without_genres=("a",))),
        (Stance(welcome=frozenset({"b"})), Conditions(without_tags=("a", "b", "c")), Conditions(without_tags=("a", "c"))),
        (
            Stance(Conditions(author="Oda, Eiichiro")),
            Conditions(without_authors=("oda", "eiichiro oda", "eiichiro oda jr", "oda jr", "urasawa", "")),
            Conditions(without_authors=("oda jr", "urasawa")),
        ),
        (Stance(Conditions(author=" , ")), Conditions(without_authors=("oda",)), Conditions(without_authors=("oda",))),
        (Stance(), Conditions(without_authors=("oda",)), Conditions(without_authors=("oda",))),
        (Stance(adult=True), Conditions(audience=Audience.TEEN, no_adult=True), Conditions()),
    ],
)
def test_later_statement_replaces_an_older_one_on_the_same_matter_only(
    now: Stance, older: Conditions, left: Conditions
) -> None:
    assert now.leaves(older) == left


@cases(
    ("new", "older", "left"),
    [
        (NO_GORE, Conditions(without_tags=("Gore",)), Conditions()),
        (Conditions(without_tags=("Gore",)), NO_GORE, Conditions(without_tags=("Horror",))),
        (Conditions(in_stock=True), Conditions(in_stock=True), Conditions()),
        (BUDGET, NO_GORE, NO_GORE),
        (
            Conditions(without_genres=("a",), without_authors=("b",), without_titles=("c",)),
            Conditions(without_genres=("a", "z"), without_authors=("y", "b"), without_titles=("c", "x")),
            Conditions(without_genres=("z",), without_authors=("y",), without_titles=("x",)),
        ),
    ],
)
def test_repeated_statement_adds_nothing(new: Conditions, older: Conditions, left: Conditions) -> None:
    assert Stance(new).adds_to(older) == left


@cases(
    ("stance", "stated"),
    [
        (Stance(), False),
        (Stance(adult=True), False),
        (Stance(BUDGET), True),
        (Stance(welcome=frozenset({"Gore"})), True),
        (Stance(welcome_genres=frozenset({"shojo"})), True),
        (Stance(freedoms=(Freedom(),)), True),
    ],
)
def test_stance_is_stated_by_any_of_its_parts(stance: Stance, stated: bool) -> None:
    assert stance.stated is stated


def heard(text: str = "old", **stance: Any) -> ParsedPreference:
    told = {name: stance.pop(name) for name in ("of_another", "unread") if name in stance}
    return ParsedPreference(Preference(text, "2026-11-23"), Reading("", ""), Stance(**stance), **told)


GORY: Any = {"welcome": frozenset({"Gore", "War"})}


@cases(
    ("new", "old", "replaced"),
    [
        (heard("ｏｌｄ", of_another=True), heard("OLD", unread=True), True),
        (heard("new", conditions=NO_GORE), heard(conditions=NO_GORE), True),
        (heard("new", conditions=NO_GORE, of_another=True), heard(conditions=NO_GORE), False),
        (heard("new", conditions=NO_GORE), heard(conditions=NO_GORE, of_another=True), False),
        (heard("new", conditions=NO_GORE), heard(conditions=NO_GORE, unread=True), False),
        (heard("new", conditions=BUDGET), heard(conditions=NO_GORE), False),
        (heard("new"), heard(conditions=NO_GORE), False),
        (heard("new", freedoms=(Freedom(),)), heard(conditions=NO_GORE), False),
        (heard("new"), heard(), False),
        (heard("new", conditions=NO_GORE), heard(**GORY), True),
        (heard("new", conditions=BUDGET), heard(**GORY), False),
        (heard("new", conditions=Conditions(without_genres=("josei",))), heard(welcome_genres=frozenset({"josei"})), True),
        (heard("new", conditions=Conditions(without_genres=("josei",))), heard(**GORY), False),
    ],
)
def test_new_preference_replaces_one_that_it_repeats_or_contradicts_whole(
    new: ParsedPreference, old: ParsedPreference, replaced: bool
) -> None:
    assert replaces(new, old) is replaced


@cases(
    ("subject", "welcome"),
    [
        ("I like gore", True),
        ("gore is fine now", True),
        ("グロいのも平気になりました", True),
        ("gore makes me sick", False),
        ("血を見ると気分が悪い", False),
    ],
)
def test_preference_welcomes_only_tags_that_it_calls_welcome(subject: str, welcome: bool) -> None:
    assert ("Gore" in stance_of(read(subject), firmly=True).welcome) == welcome
    assert "Gore" in stance_of(read("gore")).welcome, "in a query whatever is named is asked for"


def test_readership_that_is_named_lifts_its_exclusion_in_a_query_and_not_in_a_preference() -> None:
    older, named = Conditions(without_genres=("shojo",)), read("shojo")
    mentioned = replace(named, conditions=Conditions())
    assert stance_of(mentioned).leaves(older) == Conditions()
    assert stance_of(mentioned, firmly=True).leaves(older) == older


@cases(
    ("subject", "older", "left"),
    [
        ("dark fantasy with swords", ("Gore",), ("Gore",)),
        ("horror", ("Gore",), ("Gore",)),
        ("怖い話", ("Gore",), ("Gore",)),
        ("horror", ("Horror", "Gore", "Ghosts"), ()),
        ("something gory", ("Gore",), ()),
        ("a bloody horror story", ("Gore", "Zombies"), ("Zombies",)),
        ("soldiers", ("War", "Military"), ()),
    ],
)
def test_welcome_tag_lifts_its_own_exclusion_and_not_that_of_related_tags(
    subject: str, older: tuple[str, ...], left: tuple[str, ...]
) -> None:
    """A wish for horror keeps an exclusion of gore alone; horror that was excluded comes back with its related tags."""
    now = stance_of(read(subject))
    assert now.leaves(Conditions(without_tags=older)) == Conditions(without_tags=left)


@cases(
    ("text", "older", "left"),
    [
        ("やっぱり完結していなくてもいい", Conditions(statuses=(Status.FINISHED,)), Conditions()),
        (
            "ongoing is ok too",
            Conditions(statuses=(Status.FINISHED,)),
            Conditions(statuses=(Status.FINISHED, Status.PUBLISHING)),
        ),
        (
            "price doesn't matter",
            Conditions(price=Range(None, 700), without_tags=("Gore",)),
            Conditions(without_tags=("Gore",)),
        ),
        ("it need not be short", Conditions(volumes=Range(None, 10)), Conditions(volumes=Range(None, 10))),
        ("it need not be short", Conditions(volumes=Range(None, 3)), Conditions()),
        ("out of stock is fine", Conditions(in_stock=True), Conditions()),
        ("digital is fine too", Conditions(format="physical"), Conditions()),
        ("doesn't have to be digital", Conditions(format="physical"), Conditions(format="physical")),
        ("it doesn't have to be highly rated", Conditions(min_rating=4.0), Conditions()),
    ],
)
def test_statement_of_indifference_takes_back_the_condition_on_the_same_matter(
    text: str, older: Conditions, left: Conditions
) -> None:
    stance = stance_of(read(text))
    assert (stance.leaves(older), stance.stated) == (left, True)
