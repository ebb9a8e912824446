"""URLs, as settings name them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from server.config.parsing import SettingError, listed
from tools.store.backends.aws_address import S3Address
from tools.store.backends.dynamodb.tables import DynamoAddress

_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_HOST_AND_PORT = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\*|[0-9]{1,5}))?")


def host_name(text: str) -> str:
    """Reads one name or address, as a socket takes it."""
    if not (_is_address(text) or _NAME.fullmatch(text)):
        raise SettingError("has to be one name or address, without scheme, port, path or brackets")
    return text


def hosts(text: str) -> tuple[str, ...]:
    """Reads names as a Host header has them, in lower case. Raises `SettingError`."""
    found = tuple(each.lower() for each in listed(text))
    if not all(_is_allowed_host(each) for each in found):
        raise SettingError(
            "has to be names such as shop.example, shop.example:8080 or shop.example:*, no scheme and no path"
        )
    return found


def _is_allowed_host(text: str) -> bool:
    parts = _HOST_AND_PORT.fullmatch(text)
    if parts is None:
        return False
    address, name, port = parts.groups()
    known = _is_address(address, IPv6Address) if address else bool(_NAME.fullmatch(name))
    return known and (port in (None, "*") or 0 < int(port) <= 65535)


def _is_address(text: str, read: Callable[[str], object] = ip_address) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def networks(text: str) -> tuple[str, ...]:
    """Reads addresses, or networks as 10.0.0.0/8."""
    try:
        return tuple(str(ip_network(each)) for each in listed(text))
    except ValueError:
        raise SettingError("has to be IP addresses or networks, comma separated") from None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(*schemes: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        try:
            scheme = urlsplit(text).scheme
        except ValueError:  # whose text may hold a password
            raise SettingError("is no address") from None
        if scheme not in schemes or (scheme == "embedded" and text != "embedded:"):
            raise SettingError(f"has to be an address of the form {', '.join(f'{each}:' for each in schemes)}")
        return text

    return parse


def file_url(text: str) -> str:
    """Reads file: on this machine. Raises `SettingError`."""
    url_of("file")(text)
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise SettingError("has to name a file of this machine by its whole path, as in file:///etc/manga/flags.json")
    return text


def file_of(url: str) -> Path | None:
    """Returns the file of a file: URL."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def jwks_url(text: str) -> str:
    """Reads https:, file:, or http: to this machine. Raises `SettingError`."""
    url_of("https", "http", "file")(text)
    parts = urlsplit(text)
    try:
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise SettingError("is no address") from None
    if parts.scheme == "file":
        return file_url(text)
    if not host:
        raise SettingError("names no host")
    if parts.username is not None or parts.password is not None:
        raise SettingError("holds a name or password, which an issuer's public keys do not need")
    if parts.scheme == "http" and not is_loopback(host):
        raise SettingError("has to be https: keys that come over http could be anybody's")
    return text


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


def pages_url(text: str) -> str:
    """Reads it. Raises `SettingError`, or ValueError for a part of a bucket's address."""
    url_of("embedded", "file", "s3")(text)
    match urlsplit(text).scheme:
        case "file":
            _check_folder(file_of(file_url(text)))
        case "s3":
            S3Address.parse(text)
    return text


def _check_folder(folder: Path | None) -> None:
    if folder is None or not folder.is_dir():
        raise SettingError(f"there is no folder {folder}")


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
