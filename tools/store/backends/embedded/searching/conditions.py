"""The conditions of a search over columns: all titles at once, as `tools.store.search.conditions` says of one."""

from __future__ import annotations

import numpy as np

from tools.store.backends.embedded.columns import TitleColumns
from tools.store.backends.embedded.lexical.people import PeopleLeg
from tools.store.models import Filters
from tools.store.search.arrays import Mask


def allowed_by(filters: Filters, columns: TitleColumns, people: PeopleLeg) -> Mask:
    """Shape (titles,): whether a title satisfies every filter."""
    allowed = np.ones(len(columns), np.bool_)
    if filters.genre is not None:
        allowed &= columns.of_genre(filters.genre)
    if filters.min_rating is not None and filters.min_rating > 0:
        allowed &= columns.rating >= filters.min_rating
    if filters.author is not None:
        allowed &= people.exactly(filters.author)
    return allowed
