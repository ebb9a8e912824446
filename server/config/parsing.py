"""How the text of a setting is read. Messages name the rule and never the value, which may be a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import unquote, urlsplit

T = TypeVar("T")

LEAST_TOKEN = 8
"""Characters of a bearer secret: what is shorter can be guessed over the network."""
LONGEST_USER = 255
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_HOST_AND_PORT = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\*|[0-9]{1,5}))?")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class SettingError(ValueError):
    """A setting cannot be used; the message is one clear line."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """How a text is read, and in a few words what may be given, for the documents."""

    read: Callable[[str], T]
    allowed: str

    def __call__(self, text: str) -> T:
        return self.read(text)


def integer(least: int, most: int) -> Rule[int]:
    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise SettingError(f"has to be a whole number from {least} to {most}")
        return number

    return Rule(parse, f"From {least} to {most}")


def choice(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise SettingError(f"has to be one of {', '.join(choices)}")
        return text.lower()

    return parse


def switch(text: str) -> bool:
    on, off = ("1", "on", "true", "yes"), ("0", "off", "false", "no")
    if text.lower() not in (*on, *off):
        raise SettingError("has to be on or off")
    return text.lower() in on


def embedder(text: str) -> str:
    model = text.removeprefix("bedrock:")
    if text not in ("local", "none") and (model == text or not re.fullmatch(r"[^\s?#]+", model)):
        raise SettingError("has to be local, none or bedrock:MODEL")
    return text


def host_name(text: str) -> str:
    """One name or address, as a socket takes it."""
    if not (_is_address(text) or _NAME.fullmatch(text)):
        raise SettingError("has to be one name or address, without scheme, port, path or brackets")
    return text


def hosts(text: str) -> tuple[str, ...]:
    """Names as a Host header has them, in lower case. Raises `SettingError`."""
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


def listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def token_list(text: str) -> tuple[str, ...]:
    return checked_tokens(listed(text))


def checked_tokens(found: Sequence[str]) -> tuple[str, ...]:
    """Those that a bearer header can carry (RFC 6750, section 2.1). Raises `SettingError`, naming the place alone."""
    for number, token in enumerate(found, 1):
        if not _TOKEN.fullmatch(token):
            raise SettingError(f"token {number} has characters that a bearer token cannot have; use A-Z a-z 0-9 . _ ~ + / -")
        if len(token) < LEAST_TOKEN:
            raise SettingError(f"token {number} is too short; use at least {LEAST_TOKEN} characters, better 32 random ones")
    return tuple(found)


def user_id(text: str) -> str:
    if len(text) > LONGEST_USER:
        raise SettingError(f"may have at most {LONGEST_USER} characters")
    return text


def networks(text: str) -> tuple[str, ...]:
    """Addresses, or networks as 10.0.0.0/8."""
    try:
        return tuple(str(ip_network(each)) for each in listed(text))
    except ValueError:
        raise SettingError("has to be IP addresses or networks, comma separated") from None


def path(text: str) -> Path:
    try:
        return Path(text).expanduser().resolve()
    except RuntimeError:
        raise SettingError("names a home folder that does not exist") from None


def folder(text: str) -> Path:
    """One that is there and can be written, or can be made. Raises `SettingError`."""
    found = path(text)
    if found.exists() and not found.is_dir():
        raise SettingError(f"{found} is a file, and has to be a folder")
    nearest = next(each for each in (found, *found.parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise SettingError(f"nothing can be written in {nearest}")
    return found


def file_to_write(text: str) -> Path:
    """In a folder that is there, as it is named: /dev/stderr leads to what cannot be opened by the name it has. Raises
    `SettingError`."""
    path(text)
    found = Path(text).expanduser().absolute()
    if found.is_dir():
        raise SettingError(f"{found} is a folder, and has to be a file")
    if not found.parent.is_dir():
        raise SettingError(f"there is no folder {found.parent}")
    return found


def file_url(text: str) -> str:
    """file: on this machine. Raises `SettingError`."""
    url_of("file")(text)
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise SettingError("has to name a file of this machine by its whole path, as in file:///etc/manga/flags.json")
    return text


def file_of(url: str) -> Path | None:
    """Of a file: URL."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def problem_of_file(file: Path) -> str | None:
    """Why it cannot be read, naming it."""
    if file.is_dir():
        return f"{file} is a folder, and has to be a file"
    if not file.exists():
        return f"there is no file {file}"
    return None if os.access(file, os.R_OK) else f"{file} may not be read by this user"


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


def jwks_url(text: str) -> str:
    """https:, file:, or http: to this machine. Raises `SettingError`."""
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


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """A setting may be left out; where it is given it has to be right."""
    return parse
