"""What comes out, and when."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tools.store.models.values import Count, Day, Rank, Text, TitleId


@dataclass(frozen=True, slots=True)
class Release:
    """A volume in one format and the day it comes out. What it costs and how many there are is stock's to say; rank and
    whether it is for adults alone are of its title, so that a month can be listed without asking for each."""

    title_id: TitleId
    volume: Count
    format: Text
    date: Day
    popularity_rank: Rank | None = None
    adult: bool = False

    @property
    def month(self) -> str:
        """YYYY-MM."""
        return self.date[:7]

    @property
    def place(self) -> tuple[str, float, str, str, int]:
        """Where it stands in the list of its month: by day, then the best known first."""
        rank = math.inf if self.popularity_rank is None else self.popularity_rank
        return self.date, rank, self.title_id, self.format, self.volume
