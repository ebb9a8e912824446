"""Every number that ranks, for all backends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Tuned on a judged set (`make quality`); the defaults are the tuned ones. Scores and likenesses are from 0 to 1."""

    # Names: a title is called what the query says.
    name_threshold: float = 0.66
    """Names less like the query count for nothing: two names share a fifth of their letters by chance."""
    theme_name_threshold: float = 0.94
    """The `name_threshold` of a query that is a theme and nothing else."""
    theme_only: float = 0.9
    """A query of which the themes are more than this share is a theme and nothing else."""
    exact: float = 0.97
    """The least likeness of an exact name."""
    name_prior: float = 0.06
    alias: float = 0.98
    """A name that the query is a nickname of counts a little less than the name itself."""
    beside_author: float = 0.97
    """Weight of a name whose author the query also names."""
    read: float = 0.96
    """Weight of a name that a reading of the query's kanji is, or is surely like."""
    read_whole: float = 0.95
    """The least part of the name, from its beginning, that a reading has to be: all of it, or all before its subtitle."""
    read_like: float = 0.97
    """Further weight of a name that is only like the likeliest reading."""
    sure_name: float = 0.8
    """A name this like the query is that name with a slip, one letter in five at most; "Batman" and "Bakuman" have 0.71."""
    near_name: float = 0.5
    """The least likeness of the names that are shown where nothing matches, at most `most_near`."""
    most_near: int = 3

    # Authors: a title is by whom the query names.
    author: float = 0.92
    unsure_prior: float = 0.75
    by_author: float = 0.5
    """The least sureness at which the query names an author."""

    # Stories: a title is about what the query describes.
    words: float = 0.6
    translated: float = 0.9
    """English words that a Japanese query was translated into count a little less than its own."""
    meaning: float = 0.65
    headline: float = 0.5
    tags: float = 0.16
    theme_scale: float = 0.8
    tagged: float = 0.75
    text_of_tagged: float = 0.1
    prior: float = 0.16

    # Floors: what is below is no answer.
    floor: float = 0.3
    relative_floor: float = 0.6
    floor_beside_exact: float = 0.7
    ordered_floor: float = 0.8
    """The least share of the best score that an answer needs where another ordering, such as price, sorts them."""
    few: int = 10
    """If a condition leaves fewer answers than this, the nearest titles follow them."""
    nearest_floor: float = 0.15
    """The least score of such a nearest title."""
    in_vocabulary: float = 0.55
    """A query with a smaller share of its weight in words that titles have may be of another world."""
    sure_meaning: float = 0.4
    """It is not, if a passage means it this much."""
    meant_at_all: float = 0.2
    """A translated query is of another world if no title means it this much."""
    themed: float = 0.3
    """No query is of another world if this share of it is themes."""

    # Series: what belongs to a title follows it.
    surely_called: float = 0.88
    """The least sureness at which a title is named, so that its series follows and others may be sought from it."""
    surely_called_prior: float = 0.05
    related: float = 0.8
    """The share of a series that a title counts as which the catalogue relates to another."""
    series_of_named: float = 0.92
    series_of_described: float = 0.9
    series_prior: float = 0.01
    described: float = 0.4
    """The least score at which a title is surely the one described."""
    many: int = 50
    """If more titles than this have all the themes, the best of them leads no series."""

    # Likeness: titles like one title.
    same_genre: float = 0.1
    alike_prior: float = 0.2
    alike_meaning: float = 0.5
    alike_floor: float = 0.5
