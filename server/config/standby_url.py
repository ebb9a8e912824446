"""MANGA_STANDBY_URL: a file, an object in S3, or the Redis of the sessions."""

from __future__ import annotations

from urllib.parse import urlsplit

from server.config.parsing import SettingError
from server.config.urls import file_url, url_of
from tools.store.backends.pages.s3.address import S3Address

IN_REDIS = "redis:"


def standby_url(text: str) -> str:
    """Reads it. Raises `SettingError`, or ValueError for a part of an object's address."""
    url_of("file", "s3", "redis")(text)
    match urlsplit(text).scheme:
        case "file":
            file_url(text)
        case "s3":
            if not S3Address.parse(text).prefix:
                raise SettingError("has to name an object, as in s3://BUCKET/standby.bundle?region=REGION")
        case _:
            if text != IN_REDIS:
                raise SettingError(f"has to be {IN_REDIS} alone: the Redis is that of MANGA_REDIS_URL")
    return text
