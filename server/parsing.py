"""How the text of a setting is read. Messages name the rule and never the value, which may be a secret."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")


class SettingError(ValueError):
    """A setting cannot be used; the message is one clear line."""


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
    if text not in ("local", "none") and (model == text or not model):
        raise SettingError("has to be local, none or bedrock:MODEL")
    return text


def hosts(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def networks(text: str) -> tuple[str, ...]:
    """Addresses, or networks as 10.0.0.0/8."""
    try:
        return tuple(str(ip_network(each)) for each in hosts(text))
    except ValueError:
        raise SettingError("has to be IP addresses or networks, comma separated") from None


def path(text: str) -> Path:
    try:
        return Path(text).expanduser().resolve()
    except RuntimeError:
        raise SettingError("names a home folder that does not exist") from None


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
    if parts.scheme != "file" and not host:
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
