"""Parsers of setting values: numbers, texts, URLs, hosts, networks. They raise `SettingError`, whose message states the
rule and has no value that may be secret."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from tools.store.backends.aws_address import S3Address
from tools.store.backends.dynamodb.tables import DynamoAddress

T = TypeVar("T")
LONGEST_USER = 255
LEAST_TOKEN = 8
"""Fewest characters of a bearer token: a shorter one can be guessed over the network."""
SWITCHES = dict.fromkeys(("1", "on", "true", "yes"), True) | dict.fromkeys(("0", "off", "false", "no"), False)


class SettingError(ValueError):
    """The value of a setting cannot be used. The message is one line for the operator."""


def parse_setting(name: str, text: str, parse: Callable[[str], T]) -> T:
    """Parses the stripped `text` of the setting `name`. Raises `SettingError` with a message that starts with `name`."""
    try:
        return parse(text.strip())
    except ValueError as error:
        raise SettingError(f"{name}: {error}") from None
    except OSError as error:
        raise SettingError(f"{name}: a file that it names cannot be used: {error.strerror}") from None


def require(holds: Callable[[str], Any], rule: str) -> Callable[[str], str]:
    """Returns a parser that accepts texts for which `holds` is true, and raises `SettingError(rule)` for others."""

    def parse(text: str) -> str:
        if not holds(text):
            raise SettingError(rule)
        return text

    return parse


def match(pattern: str, rule: str) -> Callable[[str], str]:
    return require(re.compile(pattern, re.ASCII).fullmatch, rule)


def integer(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise SettingError(f"has to be a whole number from {least} to {most}")
        return number

    return parse


def choice(*choices: str) -> Callable[[str], str]:
    known = require(choices.__contains__, f"has to be one of {', '.join(choices)}")
    return lambda text: known(text.lower())


def switch(text: str) -> bool:
    if text.lower() not in SWITCHES:
        raise SettingError("has to be on or off")
    return SWITCHES[text.lower()]


def split_list(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def path(text: str) -> Path:
    try:
        return Path(text).expanduser().resolve()
    except RuntimeError:
        raise SettingError("names a home folder that does not exist") from None


def file_to_write(text: str) -> Path:
    """Parses the path of a file in an existing folder. Symbolic links are not resolved, since the target of /dev/stderr may
    not be openable. Raises `SettingError`."""
    path(text)
    found = Path(text).expanduser().absolute()
    if found.is_dir():
        raise SettingError(f"{found} is a folder, and has to be a file")
    if not found.parent.is_dir():
        raise SettingError(f"there is no folder {found.parent}")
    return found


def file_problem(file: Path) -> str | None:
    if file.is_dir():
        return f"{file} is a folder, and has to be a file"
    if not file.exists():
        return f"there is no file {file}"
    return None if os.access(file, os.R_OK) else f"{file} may not be read by this user"


def read_tokens(file: Path) -> tuple[str, ...]:
    """Reads the tokens of MANGA_AUTH_TOKENS_FILE. Raises `SettingError` for an unreadable file or a malformed token."""
    try:
        return check_tokens(file.read_text("utf-8").split())
    except OSError as error:
        why = f"{file} cannot be read: {error.strerror}"
    except UnicodeError:
        why = f"{file} cannot be read: it is not UTF-8 text"
    except SettingError as error:
        why = f"{file}: {error}"
    raise SettingError(f"MANGA_AUTH_TOKENS_FILE: {why}") from None


def check_tokens(tokens: Sequence[str]) -> tuple[str, ...]:
    """Returns the tokens if bearer headers can carry them (RFC 6750, 2.1) and none is too short. Raises `SettingError`,
    which names a token by its position."""
    for number, token in enumerate(tokens, 1):
        if not re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token):
            raise SettingError(f"token {number} has characters that a bearer token cannot have; use A-Z a-z 0-9 . _ ~ + / -")
        if len(token) < LEAST_TOKEN:
            raise SettingError(f"token {number} is too short; use at least {LEAST_TOKEN} characters, better 32 random ones")
    return tuple(tokens)


_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_HOST_AND_PORT = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\*|[0-9]{1,5}))?")
Check = Callable[[str], object]
IN_REDIS = "redis:"
"""The value of MANGA_STANDBY_URL for a bundle that is stored in the Redis of MANGA_REDIS_URL."""


def is_host_name(text: str) -> bool:
    return _is_address(text) or _NAME.fullmatch(text) is not None


def hosts(text: str) -> tuple[str, ...]:
    """Parses comma-separated host names, each with an optional port or `:*`. Returns them in lower case."""
    found = tuple(each.lower() for each in split_list(text))
    if not all(_is_allowed_host(each) for each in found):
        raise SettingError(
            "has to be names such as shop.example, shop.example:8080 or shop.example:*, no scheme and no path"
        )
    return found


def cover_hosts(text: str) -> tuple[str, ...]:
    """Parses the hosts of cover images, for a Content-Security-Policy, as `hosts` does, but refuses `*` and IPv6."""
    if "*" in text or "[" in text:
        raise SettingError("has to be names such as img.shop.example or img.shop.example:8443, no pattern and no address")
    return hosts(text)


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
    try:
        return tuple(str(ip_network(each)) for each in split_list(text))
    except ValueError:
        raise SettingError("has to be IP addresses or networks, comma separated") from None


def is_loopback(host: str) -> bool:
    return host == "localhost" or is_loopback_address(host)


def is_loopback_address(text: str) -> bool:
    """True for a loopback address, also for an IPv4 address in IPv6's form; False for a name."""
    if not _is_address(text):
        return False
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def address(checks: Mapping[str, Check]) -> Callable[[str], str]:
    """Returns a parser of URLs. `checks` maps each allowed scheme to a function that raises ValueError for a wrong URL."""
    rule = f"has to be an address of the form {', '.join(f'{scheme}:' for scheme in checks)}"

    def parse(text: str) -> str:
        try:
            scheme = urlsplit(text).scheme
        except ValueError:  # its message may contain a password
            raise SettingError("is no address") from None
        checks.get(scheme, require(lambda _: False, rule))(text)
        return text

    return parse


def allow_only(text: str) -> Check:
    return require(text.__eq__, f"may be the address {text} alone")


def check_file(text: str) -> SplitResult:
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise SettingError("has to name a file of this machine by its whole path, as in file:///etc/manga/flags.json")
    return parts


def check_folder(text: str) -> None:
    folder = Path(unquote(check_file(text).path))
    if not folder.is_dir():
        raise SettingError(f"there is no folder {folder}")


def check_object(text: str) -> None:
    if not S3Address.parse(text).prefix:
        raise SettingError("has to name an object, as in s3://BUCKET/standby.bundle?region=REGION")


standby_url = address({"file": check_file, "s3": check_object, "redis": allow_only(IN_REDIS)})


def check_http(text: str) -> SplitResult:
    parts = urlsplit(text)
    try:
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise SettingError("is no address") from None
    if not host:
        raise SettingError("names no host")
    if parts.username is not None or parts.password is not None:
        raise SettingError("holds a name or password, which would be sent with every request")
    return parts


def check_loopback(text: str) -> None:
    if not is_loopback(check_http(text).hostname or ""):
        raise SettingError("has to be https: keys that come over http could be anybody's")


def file_of(url: str) -> Path | None:
    """Returns the path of a `file:` URL, or None for other schemes."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def without_query(url: str) -> str:
    """Returns the URL for display without its query, which may contain a key; for a `file:` URL, its path."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else f"{parts.scheme}://{parts.netloc}{parts.path}"


@dataclass(frozen=True, slots=True)
class FlagsItem:
    """The DynamoDB item that a URL `dynamodb://REGION/TABLE/KEY[?endpoint=URL]` names."""

    address: DynamoAddress
    table: str
    key: str

    @classmethod
    def parse(cls, url: str) -> FlagsItem:
        """Parses the URL. Raises ValueError with a message about the wrong part."""
        parts = urlsplit(url)
        address = DynamoAddress.parse(urlunsplit(parts._replace(path="")))
        if "table_prefix" in parts.query:
            raise ValueError("the table is named whole, without table_prefix")
        names = [unquote(each) for each in parts.path.split("/")[1:]]
        if len(names) != 2 or not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", names[0]):
            raise ValueError("has to name table and item, as in dynamodb://ap-northeast-1/manga-flags/production")
        if not 1 <= len(names[1]) <= 255:
            raise ValueError("the item's name has to have 1 to 255 characters")
        return cls(address, *names)


def relay_url(text: str) -> str:
    if text in ("auto", "off"):
        return text
    parts = urlsplit(text)
    if parts.scheme != "unix" or parts.netloc or not parts.path.startswith("/") or parts.query:
        raise SettingError("has to be auto, off or a folder, as in unix:///run/manga")
    if len(parts.path.encode()) > 80:  # of Linux's 107 bytes for a socket path; the rest is for the process's name
        raise SettingError("names a folder whose path has more than 80 bytes")
    return text
