"""Types of the models' fields, with their limits, for pydantic.

A validator raises ValueError with a predicate, such as "must be a date", which follows the field's name in messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from tools.store.identifiers import AUDIENCES, GENRES, SAFE_ID

JAPAN = timezone(timedelta(hours=9), "JST")


def day_in_japan(moment: datetime) -> date:
    """Returns the date in Japan at `moment`, a timezone-aware time."""
    return moment.astimezone(JAPAN).date()


def is_month(text: str) -> bool:
    """Returns True if the text is a calendar month, YYYY-MM."""
    try:
        return date.fromisoformat(f"{text}-01").isoformat() == f"{text}-01"
    except ValueError:
        return False


MOST = 10**9
"""The largest number of yen, copies or volumes; every database can hold it."""
LONGEST_NAME, LONGEST_PROSE = 1_000, 20_000
"""Most characters of a name and of a longer text."""
LONGEST_LIST = 200
MOST_RELATED = 1_000
STARS = 5
WEB_ADDRESS = r"https://[a-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-~]*)?"
LANGUAGE_TAG = "^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z", re.ASCII)


def _one_of(names: Sequence[str]) -> AfterValidator:
    def check(text: str) -> str:
        if text not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return text

    return AfterValidator(check)


def _by_stars(counts: tuple[int, ...]) -> tuple[int, ...]:
    if len(counts) != STARS:
        raise ValueError(f"must be a list of {STARS}, for 1 to {STARS} stars")
    return counts


def _safe_id(text: str) -> str:
    if not re.fullmatch(SAFE_ID, text):
        raise ValueError("must have 1 to 64 of A-Z a-z 0-9 . _ : - and begin with a letter or digit")
    return text


@lru_cache(maxsize=4_096)
def _day(text: str) -> str:
    """Returns a date unchanged; raises ValueError for anything but YYYY-MM-DD, since dates are compared as text. Cached,
    since volumes share a few dates."""
    try:
        fits = date.fromisoformat(text).isoformat() == text
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("must be a date, YYYY-MM-DD")
    return text


def _campaign_day(text: str) -> str:
    """Returns a date or a day of every year (MM-DD) unchanged; else raises ValueError, also for 29 February of every
    year."""
    try:
        return _day(f"2001-{text}" if len(text) == len("MM-DD") else text)[-len(text) :]
    except ValueError:
        raise ValueError("must be a date, YYYY-MM-DD, or a day of every year, MM-DD") from None


def _moment(text: str) -> str:
    """Returns a time in UTC that ends in `Z` unchanged; else raises ValueError: times sort as text only in one spelling."""
    try:
        fits = _MOMENT.fullmatch(text) is not None and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("must be an ISO 8601 time in UTC that ends in Z, YYYY-MM-DDThh:mm:ssZ")
    return text


def _web_address(text: str) -> str:
    if not re.fullmatch(WEB_ADDRESS, text):
        raise ValueError("must be an address that begins with https://")
    return text


def _language(text: str) -> str:
    if not re.fullmatch(LANGUAGE_TAG, text):
        raise ValueError("must be a language tag (BCP 47), such as ja or en-GB")
    return text


Text = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Prose = Annotated[str, Field(min_length=1, max_length=LONGEST_PROSE)]
Texts = Annotated[tuple[Text, ...], Field(max_length=LONGEST_LIST)]
WebAddress = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_web_address)]
LanguageTag = Annotated[str, AfterValidator(_language), WithJsonSchema({"type": "string", "pattern": LANGUAGE_TAG})]
Count = Annotated[int, Field(ge=0, le=MOST)]
Yen = Annotated[int, Field(ge=0, le=MOST)]
Rank = Annotated[int, Field(ge=1, le=MOST)]
Year = Annotated[int, Field(ge=1000, le=9999)]
Rating = Annotated[float, Field(ge=0, le=5, allow_inf_nan=False)]
ByStars = Annotated[tuple[Count, ...], AfterValidator(_by_stars), Field(min_length=STARS, max_length=STARS)]
"""The number of ratings with one star, two, and so on to five."""
Readership = Annotated[str, _one_of(GENRES), WithJsonSchema({"enum": list(GENRES)})]
ForWhom = Annotated[str, _one_of(AUDIENCES), WithJsonSchema({"enum": list(AUDIENCES)})]
TitleId = Annotated[str, AfterValidator(_safe_id), WithJsonSchema({"type": "string", "pattern": SAFE_ID})]
OrderId = TitleId
Day = Annotated[str, AfterValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
CampaignDay = Annotated[str, AfterValidator(_campaign_day)]
Moment = Annotated[str, AfterValidator(_moment), WithJsonSchema({"type": "string", "pattern": f"^{_MOMENT.pattern}$"})]
