"""Parsers of setting values. Messages name the rule and never the value, which may be a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
LONGEST_USER = 255
LEAST_TOKEN = 8
"""Characters of a bearer secret: a shorter one can be guessed over the network."""
SWITCHES = dict.fromkeys(("1", "on", "true", "yes"), True) | dict.fromkeys(("0", "off", "false", "no"), False)


class SettingError(ValueError):
    """A setting cannot be used; the message is one clear line."""


def parse_setting(name: str, text: str, parse: Callable[[str], T]) -> T:
    """Parses the value of the setting `name`. Raises `SettingError` with that name."""
    try:
        return parse(text.strip())
    except ValueError as error:
        raise SettingError(f"{name}: {error}") from None
    except OSError as error:
        raise SettingError(f"{name}: a file that it names cannot be used: {error.strerror}") from None


def require(holds: Callable[[str], Any], rule: str) -> Callable[[str], str]:
    """Returns a parser that accepts a text for which `holds` is true, and raises `SettingError` with the rule for others."""

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
    """Accepts a file in an existing folder. Links are kept: /dev/stderr resolves to a name that cannot be opened."""
    path(text)
    found = Path(text).expanduser().absolute()
    if found.is_dir():
        raise SettingError(f"{found} is a folder, and has to be a file")
    if not found.parent.is_dir():
        raise SettingError(f"there is no folder {found.parent}")
    return found


def file_problem(file: Path) -> str | None:
    """Returns why the file cannot be read; None if it can."""
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
    """Returns the tokens if a bearer header can carry each (RFC 6750, section 2.1). The error names a token by position."""
    for number, token in enumerate(tokens, 1):
        if not re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token):
            raise SettingError(f"token {number} has characters that a bearer token cannot have; use A-Z a-z 0-9 . _ ~ + / -")
        if len(token) < LEAST_TOKEN:
            raise SettingError(f"token {number} is too short; use at least {LEAST_TOKEN} characters, better 32 random ones")
    return tuple(tokens)
