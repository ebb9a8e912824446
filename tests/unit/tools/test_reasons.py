"""The reason for a recommendation: true facts, in few words, and no words of the customer."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tools.conditions.wanted import Want
from tools.recommend.chosen import reason
from tools.recommend.taste import CustomerTaste, Did, KnownTitle
from tools.recommend.wish import Wish
from tools.results.rows import title_row
from tools.store.models import Author, Conditions, Range, Status, Title


def a_title(n: int, **more: object) -> Title:
    return Title(f"manga-{n:06}", en=f"Title {n}", popularity_rank=n, **more)  # type: ignore[arg-type]


ANYTHING = Conditions()


def wish(*wanted: str, search: str = "", conditions: Conditions = ANYTHING) -> Wish:
    return Wish(Want(search, conditions), search, (wanted,) if wanted else (), (), ())


ODA = Author("Oda, Eiichiro")
OWNED = a_title(7, authors=(ODA,), tags=("Pirates", "Adventure", "Comedy", "Travel"))
NOBODY, OWNER = CustomerTaste(), CustomerTaste(known=(KnownTitle(OWNED, Did.BOUGHT),))
VIEWER = CustomerTaste(known=(KnownTitle(OWNED, Did.VIEWED),))
SHORT = Conditions(statuses=(Status.FINISHED,), volumes=Range(None, 9), years=Range(1980, 1989))


@cases(
    ("title", "asked", "reader", "said"),
    [
        (a_title(1, authors=(ODA,)), wish(), OWNER, "By Eiichiro Oda, who also made Title 7, which you have."),
        (a_title(1, tags=("Comedy", "Pirates", "Travel")), wish(), OWNER, "Shares Comedy, Pirates, Travel with Title 7, which you have."),
        (a_title(1, tags=("Comedy", "Pirates")), wish("Pirates"), VIEWER, "Has Pirates; shares Comedy, Pirates with Title 7, which you looked at."),
        (OWNED, wish(search="sea"), VIEWER, "You looked at it before."),
        (a_title(1, tags=("Comedy",)), wish(), OWNER, "Has Comedy."),
        (a_title(1, tags=("Comedy",)), wish(search="sea"), NOBODY, "Has Comedy."),
        (a_title(1, tags=("Comedy",)), wish(), NOBODY, "Number 1 in popularity."),
        (Title("m-1", en="x", tags=("Comedy",)), wish(), NOBODY, "Has Comedy."),
        (Title("m-1", en="x", rating=4.5), wish(), NOBODY, "Rated 4.5 of 5."),
        (Title("m-1", en="x"), wish(search="sea"), NOBODY, ""),
        (a_title(1, rating=4.0), wish(), NOBODY, "Number 1 in popularity. Rated 4 of 5."),
        (a_title(1, rating=3.99), wish(), NOBODY, "Number 1 in popularity."),
        (a_title(1, status="Finished", volumes=1, start_year=1985), wish(conditions=SHORT), NOBODY, "Finished; 1 volume; from 1985."),
    ],
)  # fmt: skip
def test_recommendation_reason_is_made_of_facts(title: Title, asked: Wish, reader: CustomerTaste, said: str) -> None:
    assert reason(title, asked, reader) == said


def test_reason_names_the_known_title_most_alike() -> None:
    """Of equally similar titles the bought one is named."""
    other, third = a_title(8, tags=("Pirates", "Adventure")), a_title(9, tags=OWNED.tags)
    title = a_title(1, tags=("Pirates", "Adventure", "Comedy"))
    known = (KnownTitle(other, Did.BOUGHT), KnownTitle(OWNED, Did.BOUGHT), KnownTitle(third, Did.VIEWED))
    assert "Title 7, which you have" in reason(title, wish(), CustomerTaste(known=known))
    assert "Title 7, which you looked at" in reason(title, wish(), CustomerTaste(known=(known[0], *VIEWER.known)))


TAGS = ("Action", "Comedy", "Drama", "Gore", "Horror", "Music", "Romance", "School", "Space")
titles = st.builds(
    Title,
    st.sampled_from(["a", "b", "c"]),
    en=st.sampled_from(["One", "Two", "Three"]),
    authors=st.sampled_from([(), (ODA,), (Author("Toriyama, Akira"), ODA)]),
    tags=st.lists(st.sampled_from(TAGS), unique=True, max_size=9).map(tuple),
    genre=st.sampled_from([None, "shonen", "josei"]),
    rating=st.sampled_from([None, 3.0, 4.5]),
    volumes=st.sampled_from([None, 1, 12]),
    status=st.sampled_from([None, "Finished", "Publishing"]),
    start_year=st.sampled_from([None, 1985, 2020]),
    popularity_rank=st.sampled_from([None, 3]),
)
stated = st.builds(
    Conditions,
    genres=st.sampled_from([(), ("shonen",)]),
    author=st.sampled_from([None, "oda"]),
    statuses=st.sampled_from([(), (Status.FINISHED,)]),
    volumes=st.sampled_from([Range(), Range(None, 12)]),
    years=st.sampled_from([Range(), Range(1980, None)]),
)


@given(
    titles,
    st.lists(titles, max_size=3),
    st.sampled_from(list(Did)),
    st.lists(st.sampled_from(TAGS), max_size=3),
    stated,
    st.sampled_from(["", "zebra crossing"]),
)
def test_every_fact_of_a_reason_is_true_of_the_card(
    title: Title, shelf: list[Title], did: Did, wanted: list[str], conditions: Conditions, search: str
) -> None:
    said = reason(
        title,
        wish(*wanted, search=search, conditions=conditions),
        CustomerTaste(known=tuple(KnownTitle(t, did) for t in shelf)),
    )
    card = title_row(title)
    assert "zebra" not in said
    for tags in re.findall(r"(?:[Hh]as|[Ss]hares) ([\w, ]+?)(?= with|;|\.)", said):
        assert set(tags.split(", ")) <= set(card["tags"])
    for shared, known in re.findall(r"[Ss]hares ([\w, ]+) with (\w+), which", said):
        assert any(t.display == known and set(shared.split(", ")) <= set(t.tags) for t in shelf)
    for name, known in re.findall(r"[Bb]y ([\w ]+), who also made (\w+), which", said):
        assert name in card["author"]
        assert any(t.display == known and set(t.authors) & set(title.authors) for t in shelf)
    for volumes in re.findall(r"(\d+) volume", said):
        assert int(volumes) == card["volumes"]
    for year in re.findall(r"rom (\d{4})", said):
        assert int(year) == card["start_year"]
    for rank in re.findall(r"Number (\d+) in popularity", said):
        assert int(rank) == title.popularity_rank
    for rating in re.findall(r"Rated ([\d.]+) of 5", said):
        assert float(rating) == card["rating"]
    if re.search("[Ff]inished", said):
        assert card["status"] == "Finished"
