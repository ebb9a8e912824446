"""Times of the sample data: planned in Japanese local time, written in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

_JAPAN = timezone(timedelta(hours=9), "JST")


def japan_time(text: str) -> datetime:
    """Parses `2026-11-18 21:14` as Japanese local time."""
    return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=_JAPAN)


def utc(moment: datetime) -> str:
    """Formats a time as ISO 8601 in UTC, to the second, ending in Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def japan_day(moment: datetime) -> date:
    return moment.astimezone(_JAPAN).date()
