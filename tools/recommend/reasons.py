"""Reasons for a recommendation: facts of the record and of the customer's shelf, never the customer's own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.recommend.taste import CustomerTaste, KnownTitle
from tools.recommend.wish import Wish
from tools.results.rows import TAGS, author_name
from tools.store.models import Conditions, Title
from tools.store.search.conditions.check import status_of

MOST_TAGS = 3
FEWEST_SHARED = 2
WELL_RATED = 4.0


def reason(title: Title, wish: Wish, customer: CustomerTaste) -> str:
    """A few English words: what fits, then what the title shares with those that the customer knows; "" for no reason."""
    parts, shared = [*_what_fits(title, wish), *_conditions(title, wish.conditions)], _name_shared_fact(title, customer)
    if shared:
        parts.append(shared)
    elif not parts and title.tags and (wish.search or customer.known or title.popularity_rank is None):
        parts.append(f"has {', '.join(title.tags[:MOST_TAGS])}")
    rated = [f"Rated {title.rating:g} of 5."] if title.rating is not None and title.rating >= WELL_RATED else []
    sentence = "; ".join(parts)
    return " ".join([sentence[0].upper() + sentence[1:] + ".", *rated]) if parts else standing(title, rated)


def standing(title: Title, rated: Sequence[str] = ()) -> str:
    """The popularity rank of a title, as the record has it."""
    ranked = [f"Number {title.popularity_rank} in popularity."] if title.popularity_rank is not None else []
    return " ".join([*ranked, *rated])


def _what_fits(title: Title, wish: Wish) -> Iterator[str]:
    if fitting := [tag for tag in title.tags[:TAGS] if tag in wish.themes][:MOST_TAGS]:
        yield f"has {', '.join(fitting)}"


def _conditions(title: Title, asked: Conditions) -> Iterator[str]:
    """The facts of the conditions that were stated."""
    if asked.genres and title.genre:
        yield title.genre
    if asked.author and title.authors:
        yield f"by {', '.join(map(author_name, title.authors))}"
    if asked.statuses and (status := status_of(title)):
        yield status.value
    if asked.volumes and title.volumes:
        yield "1 volume" if title.volumes == 1 else f"{title.volumes} volumes"
    if asked.years and title.start_year:
        yield f"from {title.start_year}"
    if asked.magazines and title.magazine:
        yield f"ran in {title.magazine}"


def _name_shared_fact(title: Title, customer: CustomerTaste) -> str | None:
    if title.title_id in customer.viewed_ids:
        return "you looked at it before"
    if same := _by_same_author(title, customer):
        return f"by {same[0]}, who also made {_with_you(same[1])}"
    if alike := _most_alike(title, customer):
        return f"shares {', '.join(alike[0])} with {_with_you(alike[1])}"
    return None


def _with_you(known: KnownTitle) -> str:
    return f"{known.title.display}, which you {known.did}"


def _by_same_author(title: Title, customer: CustomerTaste) -> tuple[str, KnownTitle] | None:
    for known in customer.known:
        theirs = {author.name for author in known.title.authors}
        for author in title.authors:
            if author.name in theirs:
                return author_name(author), known
    return None


def _most_alike(title: Title, customer: CustomerTaste) -> tuple[list[str], KnownTitle] | None:
    tags = frozenset(title.tags[:TAGS])
    known = max(customer.known, key=lambda known: len(tags.intersection(known.title.tags)), default=None)
    if known is None:
        return None
    shared = [tag for tag in title.tags[:TAGS] if tag in known.title.tags]
    return (shared[:MOST_TAGS], known) if len(shared) >= FEWEST_SHARED else None
