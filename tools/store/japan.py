"""The calendar of the shop: promises, releases and campaigns end with a day in Japan, wherever the server runs."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

JAPAN = timezone(timedelta(hours=9), "JST")


def day_in_japan(moment: datetime) -> date:
    """`moment` is any with a time zone."""
    return moment.astimezone(JAPAN).date()


def is_month(text: str) -> bool:
    """Whether it is YYYY-MM of the calendar."""
    try:
        return date.fromisoformat(f"{text}-01").isoformat() == f"{text}-01"
    except ValueError:
        return False
