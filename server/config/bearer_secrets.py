"""The bearer secrets that are accepted with MANGA_AUTH=token, and the secret that the processes of a fleet share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from server.config.parsing import SettingError, listed

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
