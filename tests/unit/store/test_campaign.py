"""When a campaign runs, and until which date."""

from __future__ import annotations

from datetime import date

from hypothesis import given

from tests.support.cases import cases
from tests.support.nouns import DAYS, campaigns
from tools.store.models import Campaign

ONCE = Campaign("2026-12-15", "2026-12-01")
OPEN = Campaign("2026-12-15")
YEARLY = Campaign("06-30", "06-01")
NEW_YEAR = Campaign("01-05", "12-20")


@cases(
    ("campaign", "day", "end"),
    [
        (ONCE, "2026-11-30", None),
        (ONCE, "2026-12-01", "2026-12-15"),
        (ONCE, "2026-12-15", "2026-12-15"),
        (ONCE, "2026-12-16", None),
        (OPEN, "2020-01-01", "2026-12-15"),
        (OPEN, "2026-12-16", None),
        (YEARLY, "2026-05-31", None),
        (YEARLY, "2026-06-01", "2026-06-30"),
        (YEARLY, "2031-06-30", "2031-06-30"),
        (YEARLY, "2031-07-01", None),
        (NEW_YEAR, "2026-12-19", None),
        (NEW_YEAR, "2026-12-20", "2027-01-05"),
        (NEW_YEAR, "2027-01-05", "2027-01-05"),
        (NEW_YEAR, "2027-01-06", None),
        (Campaign("02-28", "02-01"), "2028-02-29", None),
        (Campaign("12-31", "01-01"), "2028-02-29", "2028-12-31"),
    ],
)
def test_campaign_runs_from_its_first_day_to_the_end_of_its_last(campaign: Campaign, day: str, end: str | None) -> None:
    assert campaign.end(day) == end


@cases("broken", [Campaign("12-31"), Campaign("2026-12-31", "12-01"), Campaign("2026-12-01", "2026-12-31")])
def test_campaign_with_malformed_dates_never_runs(broken: Campaign) -> None:
    assert broken.end("2026-12-15") is None


@given(campaigns(), DAYS)
def test_end_of_a_campaign_is_a_date_that_has_not_passed(campaign: Campaign, day: str) -> None:
    end = campaign.end(day)
    if end is not None:
        assert date.fromisoformat(end).isoformat() == end >= day
        assert campaign.end(end) == end, "it runs on its last day"
