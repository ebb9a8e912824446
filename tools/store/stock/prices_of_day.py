"""Rows of stock with the prices of the day, worked out once for each row and day and not at each reading of it."""

from __future__ import annotations

from session.resilience.lru import Lru
from tools.store.models import Availability
from tools.store.stock.as_sold import as_sold


class PricesOfDay:
    """Of the last `capacity` titles that were read."""

    def __init__(self, capacity: int) -> None:
        self._sold: Lru[str, tuple[Availability, str, Availability]] = Lru(capacity)

    def of(self, row: Availability, day: str) -> Availability:
        """The row as it is sold on a day (YYYY-MM-DD in Japan). A row that is read again is another one."""
        known = self._sold.use(row.title_id)
        if known is None or known[0] is not row or known[1] != day:
            known = row, day, as_sold(row, day)
            self._sold.put(row.title_id, known)
        return known[2]
