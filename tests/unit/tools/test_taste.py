"""A reader's taste is made of events, and fades with time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from session.profile import Event, EventKind
from tests.support.cases import cases
from tools.recommend.taste import CustomerTaste, Did, KnownTitle, decayed, reader_of, searched_tags
from tools.store.models import Title, WeighedTitle

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


def title(n: int, *tags: str) -> Title:
    return Title(f"manga-{n:06}", en=f"Title {n}", tags=tags)


def did(kind: EventKind, subject: str, days_ago: float = 0) -> Event:
    return Event.make_event(kind, subject, NOW - timedelta(days=days_ago))


@cases(("days", "weight"), [(0, 0.4), (30, 0.2), (60, 0.1), (90, 0.05), (-1, 0.4)])
def test_weight_of_a_viewed_title_halves_every_thirty_days(days: float, weight: float) -> None:
    """An event dated in the future by another clock counts as new."""
    assert decayed(0.4, did(EventKind.VIEWED, "manga-000001", days), NOW) == pytest.approx(weight)


def test_reader_query_combines_bought_viewed_searched_and_disliked_titles() -> None:
    bought, viewed, left_out = title(1, "Pirates"), title(2, "Ghosts"), title(3, "Gore")
    reader = CustomerTaste(
        owned=frozenset({bought.title_id, "manga-000099"}),
        known=(KnownTitle(bought, Did.BOUGHT), KnownTitle(viewed, Did.VIEWED, 0.4)),
        searched={"Robots": 0.2},
        disliked=(left_out,),
    )
    query = reader_of(reader)
    assert query.liked == (WeighedTitle(bought, 1.0), WeighedTitle(viewed, 0.4))
    assert (query.disliked, query.themes) == ((left_out,), {"Robots": 0.2})
    assert set(query.known) == {bought.title_id, viewed.title_id, "manga-000099"}


def test_titles_named_in_the_call_replace_the_history_of_the_reader() -> None:
    named, disliked = title(2, "Ghosts"), (title(3, "Gore"),)
    reader = CustomerTaste(frozenset({"x"}), (KnownTitle(title(1, "Pirates"), Did.BOUGHT),), {"Robots": 0.2}, disliked)
    compared = reader.by_named_alone([named])
    assert compared == CustomerTaste(frozenset({"x"}), (KnownTitle(named, Did.NAMED),), disliked=disliked)
    assert reader.by_named_alone([]) == reader


@cases("query", ["horror", "scary manga", "ホラー漫画"])
def test_searched_theme_counts_a_little_in_either_language(query: str) -> None:
    tags = searched_tags([did(EventKind.SEARCHED, query), did(EventKind.SEARCHED, f"{query} ?", 30)], NOW)
    assert tags["Horror"] == pytest.approx(0.2 + 0.1)


def test_searched_names_give_no_theme() -> None:
    assert searched_tags([did(EventKind.SEARCHED, "naoki urasawa"), did(EventKind.SEARCHED, "ワンピース")], NOW) == {}
