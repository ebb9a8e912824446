"""URLs, as settings name them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from server.config.addresses import is_loopback
from server.config.parsing import SettingError


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
