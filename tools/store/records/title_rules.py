"""What a title must satisfy to be loaded, beyond the limits of its fields: what would make an answer that contradicts itself
is told of before anything is changed."""

from __future__ import annotations

from collections.abc import Sequence

from tools.store.models import Offer, Title
from tools.store.models.offer import campaign_offer_problem, price_problem
from tools.store.records.shape import ShapeError

MOST_OFFERS = 20


def check_title(title: Title, offers: Sequence[Offer]) -> None:
    """Raises ShapeError for years that end before they begin, for stars that are not those of all ratings, and for offers
    that cannot all be meant."""
    if title.start_year and title.end_year and title.end_year < title.start_year:
        raise ShapeError("$.end_year must not be before start_year")
    if title.rating_counts and title.rating_count is not None and sum(title.rating_counts) != title.rating_count:
        raise ShapeError(f"$.rating_counts add up to {sum(title.rating_counts)}, rating_count is {title.rating_count}")
    if len(offers) > MOST_OFFERS:
        raise ShapeError(f"$.offers must be a list of at most {MOST_OFFERS}")
    seen: set[str] = set()
    for number, offer in enumerate(offers):
        if problem := price_problem(offer.format, offer.price_jpy):
            raise ShapeError(f"$.offers[{number}].price_jpy {problem}")
        if problem := campaign_offer_problem(offer):
            raise ShapeError(f"$.offers[{number}].campaign {problem}")
        if offer.format in seen:
            raise ShapeError(f"$.offers[{number}].format {offer.format!r} is there twice")
        seen.add(offer.format)
