"""How the text of a setting is read. Messages name the rule and never the value, which may be a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
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


def path(text: str) -> Path:
    try:
        return Path(text).expanduser().resolve()
    except RuntimeError:
        raise SettingError("names a home folder that does not exist") from None


def folder(text: str) -> Path:
    """Reads one that is there and can be written, or can be made. Raises `SettingError`."""
    found = path(text)
    if found.exists() and not found.is_dir():
        raise SettingError(f"{found} is a file, and has to be a folder")
    nearest = next(each for each in (found, *found.parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise SettingError(f"nothing can be written in {nearest}")
    return found


def file_to_write(text: str) -> Path:
    """Reads a file in a folder that is there, as it is named: /dev/stderr leads to what cannot be opened by the name it
    has. Raises `SettingError`."""
    path(text)
    found = Path(text).expanduser().absolute()
    if found.is_dir():
        raise SettingError(f"{found} is a folder, and has to be a file")
    if not found.parent.is_dir():
        raise SettingError(f"there is no folder {found.parent}")
    return found


def problem_of_file(file: Path) -> str | None:
    """Tells why it cannot be read, naming it."""
    if file.is_dir():
        return f"{file} is a folder, and has to be a file"
    if not file.exists():
        return f"there is no file {file}"
    return None if os.access(file, os.R_OK) else f"{file} may not be read by this user"


LEAST_TOKEN = 8
"""Characters of a bearer secret: what is shorter can be guessed over the network."""
LEAST_FLEET_KEY = 32
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def fleet_key(text: str) -> str:
    if len(text) < LEAST_FLEET_KEY:
        raise SettingError(f"is too short; use at least {LEAST_FLEET_KEY} random characters")
    return text


def token_list(text: str) -> tuple[str, ...]:
    return checked_tokens(listed(text))


def tokens_in(file: Path) -> tuple[str, ...]:
    """Those of MANGA_AUTH_TOKENS_FILE. Raises `SettingError` for a file that cannot be read, or holds what is no token."""
    try:
        return checked_tokens(file.read_text("utf-8").split())
    except OSError as error:
        why = f"{file} cannot be read: {error.strerror}"
    except UnicodeError:
        why = f"{file} cannot be read: it is not UTF-8 text"
    except SettingError as error:
        why = f"{file}: {error}"
    raise SettingError(f"MANGA_AUTH_TOKENS_FILE: {why}") from None


def checked_tokens(found: Sequence[str]) -> tuple[str, ...]:
    """Lets through those that a bearer header can carry (RFC 6750, section 2.1). Raises `SettingError`, naming only which
    it is."""
    for number, token in enumerate(found, 1):
        if not _TOKEN.fullmatch(token):
            raise SettingError(f"token {number} has characters that a bearer token cannot have; use A-Z a-z 0-9 . _ ~ + / -")
        if len(token) < LEAST_TOKEN:
            raise SettingError(f"token {number} is too short; use at least {LEAST_TOKEN} characters, better 32 random ones")
    return tuple(found)
