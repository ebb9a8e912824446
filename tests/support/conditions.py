"""Any conditions, of the values that the titles of a shelf have and of some that none has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tools.store.identifiers import GENRES
from tools.store.models import Audience, Conditions, Offer, Range, Status, Title

Records = Sequence[tuple[Title, Sequence[Offer]]]
DAYS = st.sampled_from([None, "2026-01-15", "2026-06-15"])
"""On which campaigns of the one or the other half of the year run, or none."""
MOST_AT_ONCE = 4
"""Conditions of one example: with all of them nothing would ever be left."""


def conditions(records: Records) -> st.SearchStrategy[Conditions]:
    """One to four conditions at once."""
    fields = _fields(records)
    chosen = st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=MOST_AT_ONCE, unique=True)
    return chosen.flatmap(lambda names: st.builds(Conditions, day=DAYS, **{name: fields[name] for name in names}))


def _fields(records: Records) -> dict[str, st.SearchStrategy[Any]]:
    titles = [title for title, _ in records]
    names = sorted({name for t in titles for a in t.authors for name in (a.name, a.name_ja, *a.name.split(", ")) if name})
    tags = st.sampled_from(sorted({tag for t in titles for tag in t.tags} | {"No such tag"}))
    sold = [(offer.format, offer.price_jpy, t.volumes or 1) for t, offers in records for offer in offers]
    prices, series = sorted({price for _, price, _ in sold} | {0}), sorted({price * many for _, price, many in sold} | {0})
    authors = st.sampled_from([*names, "nobody at all", "…"])
    return {
        "genres": _some(st.sampled_from(GENRES)),
        "author": authors,
        "min_rating": st.sampled_from([0.0, 3.5, 4.0, 4.4, 5.0]),
        "statuses": _some(st.sampled_from(Status)),
        "volumes": _ranges(sorted({t.volumes for t in titles if t.volumes is not None} | {0})),
        "years": _ranges(sorted({t.start_year for t in titles if t.start_year is not None} | {0})),
        "audience": st.sampled_from(Audience),
        "tags": _some(_some(tags)),
        "magazines": _some(
            st.sampled_from(sorted({n for t in titles for n in (t.magazine, t.publisher) if n} | {"No such magazine"}))
        ),
        "price": _ranges(prices),
        "series_price": _ranges(series),
        "format": st.sampled_from(sorted({format_ for format_, _, _ in sold} | {"stone"})),
        "in_stock": st.just(True),
        "all_volumes": st.just(True),
        "without_tags": _some(tags),
        "without_genres": _some(st.sampled_from(GENRES)),
        "without_authors": _some(authors),
        "without_titles": _some(st.sampled_from([*(t.title_id for t in titles[:20]), "no-such-title"])),
        "no_adult": st.just(True),
    }


def _some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, min_size=1, max_size=3).map(tuple)


def _ranges(bounds: Sequence[float]) -> st.SearchStrategy[Range]:
    """With bounds that are exactly what some title has."""
    bound = st.none() | st.sampled_from(bounds)
    return st.builds(Range, bound, bound)
