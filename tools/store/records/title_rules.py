"""What a title must satisfy to be loaded, beyond the limits of its fields: what would make an answer that contradicts itself
is told of before anything is changed."""

from __future__ import annotations

from collections.abc import Sequence

from tools.store.models import Offer, Title
from tools.store.models.offer import price_problem
from tools.store.records.shape import ShapeError

MOST_OFFERS = 20


def check_title(title: Title, offers: Sequence[Offer]) -> None:
    """Raises ShapeError for years that end before they begin, and for offers that cannot all be meant."""
    if title.start_year and title.end_year and title.end_year < title.start_year:
        raise ShapeError("$.end_year must not be before start_year")
    if len(offers) > MOST_OFFERS:
        raise ShapeError(f"$.offers must be a list of at most {MOST_OFFERS}")
    seen: set[str] = set()
    for number, offer in enumerate(offers):
        if problem := price_problem(offer.format, offer.price_jpy):
            raise ShapeError(f"$.offers[{number}].price_jpy {problem}")
        if offer.format in seen:
            raise ShapeError(f"$.offers[{number}].format {offer.format!r} is there twice")
        seen.add(offer.format)
