"""How the text of a setting is read. Messages name the rule and never the value, which may be a secret."""

from __future__ import annotations

from collections.abc import Callable
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


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """A setting may be left out; where it is given it has to be right."""
    return parse
