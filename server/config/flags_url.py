"""MANGA_FLAGS_URL: a file, an address, or an item of a DynamoDB table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

from server.config.parsing import SettingError
from server.config.urls import file_url, url_of
from tools.store.backends.dynamodb.address import DynamoAddress

LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class FlagsItem:
    """A parsed `dynamodb://REGION/TABLE/KEY[?endpoint=URL]`."""

    address: DynamoAddress
    table: str
    key: str

    @classmethod
    def parse(cls, url: str) -> FlagsItem:
        """Raises ValueError, naming the part that is wrong."""
        parts = urlsplit(url)
        address = DynamoAddress.parse(urlunsplit(parts._replace(path="")))
        if "table_prefix" in parts.query:
            raise ValueError("the table is named whole, without table_prefix")
        names = [unquote(each) for each in parts.path.split("/")[1:]]
        if len(names) != 2 or not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", names[0]):
            raise ValueError("has to name table and item, as in dynamodb://ap-northeast-1/manga-flags/production")
        if not 1 <= len(names[1]) <= LONGEST_KEY:
            raise ValueError(f"the item's name has to have 1 to {LONGEST_KEY} characters")
        return cls(address, *names)


def flags_url(text: str) -> str:
    """Reads it. Raises `SettingError`, or ValueError for a part of an item's address."""
    url_of("file", "http", "https", "dynamodb")(text)
    scheme = urlsplit(text).scheme
    if scheme == "file":
        return file_url(text)
    if scheme == "dynamodb":
        FlagsItem.parse(text)
    else:
        _check_address(text)
    return text


def shown(url: str) -> str:
    """Returns it without a query, which may hold a key."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else f"{parts.scheme}://{parts.netloc}{parts.path}"


def _check_address(text: str) -> None:
    parts = urlsplit(text)
    try:
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise SettingError("is no address") from None
    if not host:
        raise SettingError("names no host")
    if parts.username is not None or parts.password is not None:
        raise SettingError("holds a name or password, which would be sent with every look")
