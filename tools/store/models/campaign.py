"""A lower price for a while, as e-books have it."""

from __future__ import annotations

from dataclasses import dataclass

from tools.store.models.values import CampaignDay, Text

_OF_THE_YEAR = len("MM-DD")


@dataclass(frozen=True, slots=True)
class Campaign:
    """From the day `start`, or since long ago, to the end of the day `until`, by the calendar in Japan. Both are dates
    (YYYY-MM-DD), or for what comes back every year days of the year (MM-DD), perhaps over the New Year."""

    until: CampaignDay
    start: CampaignDay | None = None
    name: Text | None = None

    @property
    def yearly(self) -> bool:
        return len(self.until) == _OF_THE_YEAR

    def end(self, day: str) -> str | None:
        """The date that it runs until on `day` (YYYY-MM-DD); None where it does not run."""
        if campaign_problem(self):
            return None
        if not self.yearly:
            return self.until if (self.start or day) <= day <= self.until else None
        start, today, year = self.start or "", day[-_OF_THE_YEAR:], int(day[:4])
        if start <= self.until:
            return f"{year:04}-{self.until}" if start <= today <= self.until else None
        if self.until < today < start:
            return None
        return f"{year + (today >= start):04}-{self.until}"


def campaign_problem(campaign: Campaign) -> str | None:
    """Why its days cannot be meant; None when they can."""
    if campaign.yearly and campaign.start is None:
        return "comes back every year, so it needs a start"
    if campaign.start is not None and len(campaign.start) != len(campaign.until):
        return "has a start and an end of two kinds: both YYYY-MM-DD, or both MM-DD"
    if campaign.start is not None and not campaign.yearly and campaign.start > campaign.until:
        return "ends before it starts"
    return None
