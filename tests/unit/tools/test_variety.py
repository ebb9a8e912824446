"""Titles of a result are varied in series, author and kind."""

from __future__ import annotations

from tools.recommend.chosen import MOST_BY_AUTHOR, vary_titles
from tools.store.models import Author, Title


def title(n: int, name: str = "", *tags: str, author: str | None = None, related: tuple[str, ...] = ()) -> Title:
    authors = (Author(author),) if author else ()
    return Title(f"manga-{n:06}", en=name or f"{'ABCDEFGHIJ'[n % 10] * 7}", tags=tags, authors=authors, related=related)


def test_ranking_order_stays_where_titles_are_not_alike() -> None:
    titles = [title(n) for n in range(6)]
    assert vary_titles(titles, 4) == titles[:4]
    assert vary_titles(titles, 0) == vary_titles([], 3) == []


def test_no_two_titles_of_one_series_are_shown() -> None:
    naruto, boruto = title(1, "Naruto Shippuuden"), title(2, "Boruto", related=("manga-000001",))
    again, other = title(3, "Naruto Shippuuden: The Movie"), title(4, "Slam Dunk")
    assert vary_titles([naruto, boruto, again, other], 4) == [naruto, other]
    assert vary_titles([again, boruto, other], 4, beside=[naruto]) == [other]
    assert vary_titles([boruto, naruto, again], 1) == [boruto]


def test_titles_by_one_author_are_limited() -> None:
    mine = [title(n, author="Oda, Eiichiro") for n in range(5)]
    shown = vary_titles([*mine, title(6)], 6)
    assert sum(bool(each.authors) for each in shown) == MOST_BY_AUTHOR


def test_title_of_another_kind_is_shown_before_an_almost_equal_one() -> None:
    horrors = [title(n, "", "Horror", "Gore") for n in (1, 2, 3)]
    comedy = title(4, "", "Comedy")
    assert vary_titles([*horrors[:2], comedy, horrors[2]], 3) == [horrors[0], comedy, horrors[1]]
