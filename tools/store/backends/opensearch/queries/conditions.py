"""The conditions of a search as queries: together they let through exactly what `tools.store.search.conditions` does.

What is not known of a title has no field in its document, so that terms and ranges pass it by; of what is only forbidden it
is asked that something is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.store.backends.opensearch.queries.dsl import NOTHING, Json, either, nested, prefix, term, terms
from tools.store.models import Audience, Conditions, Range
from tools.store.search.conditions.days import numbers_of
from tools.store.search.titles.people import AskedName


def filter_queries(conditions: Conditions) -> list[Json]:
    """One query for each condition; all have to match."""
    return [*_plain(conditions), *_tags(conditions), *_sale(conditions), *_authors(conditions)]


def sold_as(asked: Conditions) -> Json:
    """The sale in the format of the conditions, or that which counts where none is asked for, on their day."""
    sale = {"term": {"sales.usual": True}} if asked.format is None else term("sales.format", asked.format)
    return {"bool": {"filter": [sale, {"terms": {"sales.days": list(numbers_of(asked.day))}}]}}


def author_query(asked: str) -> Json:
    """One author of the title has the asked name, as `AskedName.fits` says."""
    name = AskedName(asked)
    if not name.words:
        return NOTHING
    parts = [_part(part, kanji) for part, kanji in name.parts]
    return nested("people", either([term("people.spellings", name.key), {"bool": {"filter": parts}}]))


def begins_or_ends(part: str) -> list[Json]:
    """A written name begins or ends with `part`."""
    return [prefix("people.spellings", part), prefix("people.turned", part[::-1])]


def _plain(asked: Conditions) -> Iterator[Json]:
    for field, values in (("genre", asked.genres), ("status", asked.statuses), ("magazine", asked.magazines)):
        if values:
            yield terms(field, values)
    if asked.min_rating is not None and asked.min_rating > 0:
        yield _within("rating", Range(asked.min_rating))
    for field, bounds in (("volumes", asked.volumes), ("start_year", asked.years)):
        if bounds:
            yield _within(field, bounds)
    if (most := asked.audience) is not None:
        yield terms("audience", [each for each in Audience if each.fits(most)])
    if asked.no_adult:
        yield _none_of(term("audience", Audience.ADULT))
    if asked.without_titles:
        yield _none_of(terms("title_id", asked.without_titles))


def _tags(asked: Conditions) -> Iterator[Json]:
    for group in asked.tags:
        yield terms("tags", group)
    unwanted_of = {"tags": asked.without_tags, "genre": asked.without_genres, "magazine": asked.without_magazines}
    for field, unwanted in unwanted_of.items():
        if unwanted:
            yield {"exists": {"field": field}}
            yield _none_of(terms(field, unwanted))


def _sale(asked: Conditions) -> Iterator[Json]:
    """All of one sale."""
    told = [_within(f"sales.{field}", bounds) for field, bounds in _prices(asked) if bounds]
    if asked.in_stock or asked.all_volumes:
        told.append({"term": {"sales.stocked": True}})
    if told or asked.format is not None:
        yield nested("sales", {"bool": {"filter": [sold_as(asked), *told]}})


def _prices(asked: Conditions) -> tuple[tuple[str, Range], ...]:
    return ("price", asked.price), ("series_price", asked.series_price)


def _authors(asked: Conditions) -> Iterator[Json]:
    if asked.author is not None:
        yield author_query(asked.author)
    if asked.without_authors:
        yield nested("people", {"match_all": {}})
        yield _none_of(*map(author_query, asked.without_authors))


def _within(field: str, bounds: Range) -> Json:
    ends = {"gte": bounds.least, "lte": bounds.most}
    return {"range": {field: {name: end for name, end in ends.items() if end is not None}}}


def _none_of(*queries: Json) -> Json:
    return {"bool": {"must_not": list(queries)}}


def _part(part: str, kanji: bool) -> Json:
    is_part = term("people.parts", part)
    return either([is_part, *begins_or_ends(part)]) if kanji and len(part) >= 2 else is_part
