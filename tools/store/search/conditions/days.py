"""Days as numbers, so that columns and an index can tell whether a price is that of a day.

A day has two: YYYYMMDD, and MMDD for what comes back every year. What is asked for on no day in particular has 0, on which
no campaign runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.store.models import Campaign

Days = tuple[tuple[int, int], ...]
"""Of some days the first and last, both included."""
NO_DAY = 0
_YEAR, _ALWAYS = ((0, 1231),), ((0, 0), (1000_01_01, 9999_12_31))
EVERY_DAY: Days = _YEAR


def numbers_of(day: str | None) -> tuple[int, ...]:
    """Of a day (YYYY-MM-DD), or of none: one of them lies in the days on which something is so."""
    return (NO_DAY,) if day is None else (int(day[5:].replace("-", "")), int(day.replace("-", "")))


def is_one_of(day: str | None, days: Days) -> bool:
    return any(first <= number <= last for first, last in days for number in numbers_of(day))


def running(campaign: Campaign) -> tuple[Days, Days]:
    """The days of a sound campaign, and all others."""
    until = int(campaign.until.replace("-", ""))
    start = int((campaign.start or "1000-01-01").replace("-", ""))
    over_new_year = campaign.yearly and start > until
    days = ((101, until), (start, 1231)) if over_new_year else ((start, until),)
    return days, tuple(_others(days, _YEAR if campaign.yearly else _ALWAYS))


def _others(days: Days, every: Days) -> Iterator[tuple[int, int]]:
    """What is left of `every` without `days`; both in order."""
    for first, last in every:
        for taken_first, taken_last in days:
            if first <= taken_last and taken_first <= last:
                if first < taken_first:
                    yield first, taken_first - 1
                first = taken_last + 1
        if first <= last:
            yield first, last
