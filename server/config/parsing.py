"""How the text of a setting is read. Messages name the rule and never the value, which may be a secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from session.turn import TurnClock

T = TypeVar("T")

LONGEST_USER = 255
LONGEST_SHOP = 60


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


def turn_clock(text: str) -> TurnClock:
    return TurnClock(choice(*TurnClock)(text))


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


def classifier(text: str) -> str:
    model = text.removeprefix("bedrock:")
    if text != "local" and (model == text or not re.fullmatch(r"[^\s?#]+", model)):
        raise SettingError("has to be local or bedrock:MODEL")
    return text


def listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def user_id(text: str) -> str:
    if len(text) > LONGEST_USER:
        raise SettingError(f"may have at most {LONGEST_USER} characters")
    return text


def shop_name(text: str) -> str:
    if not text.isprintable() or not 0 < len(text) <= LONGEST_SHOP:
        raise SettingError(f"has to be one line of at most {LONGEST_SHOP} characters")
    return text


def namespace(text: str) -> str:
    """CloudWatch's rule for one of a customer's, or "off"."""
    if re.fullmatch(r"(?!AWS/|(?:1|on|yes|true|0|no|false)$)[\w.#:/-]{1,255}", text, re.ASCII | re.IGNORECASE) is None:
        raise SettingError("has to be off, or a namespace of CloudWatch: letters, digits and ._#:/- alone, not AWS/")
    return "off" if text.lower() == "off" else text


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """Marks a setting that may be left out; where it is given it has to be right."""
    return parse


def parsed(name: str, text: str, parse: Callable[[str], T]) -> T:
    """Reads the value of the setting `name`. Raises `SettingError`, naming it."""
    try:
        return parse(text.strip())
    except ValueError as error:
        raise SettingError(f"{name}: {error}") from None
    except OSError as error:
        raise SettingError(f"{name}: a file that it names cannot be used: {error.strerror}") from None
