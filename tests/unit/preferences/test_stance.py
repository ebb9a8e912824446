"""Which of two preferences on the same matter holds."""

from __future__ import annotations

from dataclasses import replace

from tests.support.cases import cases
from tests.support.reading import read
from tools.store.models import Audience, Conditions, Range, Status
from tools.store.preferences import Stance, stance_of

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
        (
            Stance(Conditions(author="Oda, Eiichiro")),
            Conditions(without_authors=("oda", "urasawa")),
            Conditions(without_authors=("urasawa",)),
        ),
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
    ],
)
def test_repeated_statement_adds_nothing(new: Conditions, older: Conditions, left: Conditions) -> None:
    assert Stance(new).adds_to(older) == left


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
