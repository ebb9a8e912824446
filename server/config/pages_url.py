"""MANGA_PAGES_URL: drawn for the demo, a folder, or a bucket of S3."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from server.config.parsing import SettingError
from server.config.urls import file_of, file_url, url_of
from tools.store.backends.pages.s3.address import S3Address


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
