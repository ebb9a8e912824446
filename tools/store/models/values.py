"""Types of the models' fields, with their limits, for pydantic.

A problem is the end of an error message, such as "must be a date". Messages put it after the field's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, WithJsonSchema

from tools.store.identifiers import AUDIENCES, GENRES, SAFE_ID

T = TypeVar("T")
JAPAN = timezone(timedelta(hours=9), "JST")


def day_in_japan(moment: datetime) -> date:
    """Returns the date in Japan at `moment`, a timezone-aware time."""
    return moment.astimezone(JAPAN).date()


def is_month(text: str) -> bool:
    """Returns True if the text is a calendar month, YYYY-MM."""
    return _is_day(f"{text}-01")


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


def _check(fits: Callable[[T], object], problem: str) -> AfterValidator:
    """Makes a validator that returns a value unchanged, or raises ValueError with `problem` if it does not fit."""

    def check(value: T) -> T:
        if not fits(value):
            raise ValueError(problem)
        return value

    return AfterValidator(check)


def _one_of(names: tuple[str, ...]) -> AfterValidator:
    return _check(names.__contains__, f"must be one of {', '.join(names)}")


@lru_cache(maxsize=4_096)
def _is_day(text: str) -> bool:
    """Returns True for YYYY-MM-DD only, since dates are compared as text. Cached, since volumes share a few dates."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_campaign_day(text: str) -> bool:
    """Returns True for a date or a day of every year (MM-DD), but not for 29 February of every year."""
    return _is_day(f"2001-{text}" if len(text) == len("MM-DD") else text)


def _is_moment(text: str) -> bool:
    """Returns True for a time in UTC that ends in `Z`: times sort as text only in one spelling."""
    try:
        return _MOMENT.fullmatch(text) is not None and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


Text = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Prose = Annotated[str, Field(min_length=1, max_length=LONGEST_PROSE)]
Texts = Annotated[tuple[Text, ...], Field(max_length=LONGEST_LIST)]
WebAddress = Annotated[
    str,
    Field(max_length=LONGEST_NAME),
    _check(re.compile(WEB_ADDRESS).fullmatch, "must be an address that begins with https://"),
]
LanguageTag = Annotated[
    str,
    _check(re.compile(LANGUAGE_TAG).fullmatch, "must be a language tag (BCP 47), such as ja or en-GB"),
    WithJsonSchema({"type": "string", "pattern": LANGUAGE_TAG}),
]
Count = Annotated[int, Field(ge=0, le=MOST)]
Yen = Annotated[int, Field(ge=0, le=MOST)]
Rank = Annotated[int, Field(ge=1, le=MOST)]
Year = Annotated[int, Field(ge=1000, le=9999)]
Rating = Annotated[float, Field(ge=0, le=5, allow_inf_nan=False)]
ByStars = Annotated[
    tuple[Count, ...],
    _check(lambda counts: len(counts) == STARS, f"must be a list of {STARS}, for 1 to {STARS} stars"),
    Field(min_length=STARS, max_length=STARS),
]
"""The number of ratings with one star, two, and so on to five."""
Readership = Annotated[str, _one_of(GENRES), WithJsonSchema({"enum": list(GENRES)})]
ForWhom = Annotated[str, _one_of(AUDIENCES), WithJsonSchema({"enum": list(AUDIENCES)})]
TitleId = Annotated[
    str,
    _check(re.compile(SAFE_ID).fullmatch, "must have 1 to 64 of A-Z a-z 0-9 . _ : - and begin with a letter or digit"),
    WithJsonSchema({"type": "string", "pattern": SAFE_ID}),
]
OrderId = TitleId
Day = Annotated[str, _check(_is_day, "must be a date, YYYY-MM-DD"), WithJsonSchema({"type": "string", "format": "date"})]
CampaignDay = Annotated[str, _check(_is_campaign_day, "must be a date, YYYY-MM-DD, or a day of every year, MM-DD")]
Moment = Annotated[
    str,
    _check(_is_moment, "must be an ISO 8601 time in UTC that ends in Z, YYYY-MM-DDThh:mm:ssZ"),
    WithJsonSchema({"type": "string", "pattern": f"^{_MOMENT.pattern}$"}),
]
