from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights and thresholds of the ranking, tuned on judged queries (`make quality`). Similarities are from 0 to 1."""

    # Names: the query is the title's name.
    name_threshold: float = 0.66
    """Least similarity of a name to the query that counts."""
    theme_name_threshold: float = 0.94
    """The `name_threshold` of a query that is a theme and nothing else."""
    theme_only: float = 0.9
    """A query with a larger share of themes is a theme and nothing else."""
    exact: float = 0.97
    """Least similarity of an exact name."""
    name_prior: float = 0.06
    alias: float = 0.98
    """Weight of a name that the query is a nickname of: a little less than the name itself."""
    beside_author: float = 0.97
    """Weight of a name whose author the query also names."""
    read: float = 0.96
    """Weight of a name that is a reading of the query's kanji, or surely resembles one."""
    read_whole: float = 0.95
    """Least share of the name, from its beginning, that a reading has to cover: all of it, or all before its subtitle."""
    read_like: float = 0.97
    """Further weight of a name that only resembles the likeliest reading."""
    sure_name: float = 0.8
    """Least similarity at which a name is surely meant: one wrong letter in five. "Batman" and "Bakuman" have 0.71."""
    near_name: float = 0.5
    """Least similarity of a name that is shown if nothing matches. At most `most_near` names are shown."""
    most_near: int = 3

    # Authors: the query names the title's author.
    author: float = 0.92
    unsure_prior: float = 0.75
    by_author: float = 0.5
    """Least confidence at which the query names an author."""

    # Stories: the query describes the title's story.
    words: float = 0.6
    translated: float = 0.9
    """Weight of the English words that a Japanese query was translated into: a little less than the query's own words."""
    meaning: float = 0.65
    headline: float = 0.5
    tags: float = 0.16
    theme_scale: float = 0.8
    tagged: float = 0.75
    text_of_tagged: float = 0.1
    prior: float = 0.16

    # Floors: a title with a lower score is no answer.
    floor: float = 0.3
    relative_floor: float = 0.6
    floor_beside_exact: float = 0.7
    ordered_floor: float = 0.8
    """Least share of the best fit that an answer needs if another ordering, such as price, sorts the answers."""
    few: int = 10
    """If a condition leaves fewer answers than this, the nearest titles are added."""
    nearest_floor: float = 0.15
    """Least score of such a nearest title."""
    in_vocabulary: float = 0.55
    """A query with a smaller share of its idf mass in words that titles have may be foreign to the catalogue."""
    sure_meaning: float = 0.4
    """The query is not foreign if a passage is this near in meaning."""
    meant_at_all: float = 0.2
    """A translated query is foreign if no title is this near in meaning."""
    themed: float = 0.3
    """No query with this share of themes is foreign."""

    # Series: the other titles of a series follow the one that was found.
    surely_called: float = 0.88
    """Least similarity at which the query surely names a title, so that its series follows, or others like it."""
    surely_called_prior: float = 0.05
    related: float = 0.8
    """Degree, 0 to 1, to which a title belongs to a series if the catalogue relates it to a title of the series."""
    series_of_named: float = 0.92
    series_of_described: float = 0.9
    series_prior: float = 0.01
    described: float = 0.4
    """Least score at which a title is surely the one described."""
    many: int = 50
    """If more titles than this have all the themes, no series follows the best of them."""

    # Likeness: titles similar to one title.
    same_genre: float = 0.1
    alike_prior: float = 0.2
    alike_meaning: float = 0.5
    alike_floor: float = 0.5


WEIGHTS = Weights()
