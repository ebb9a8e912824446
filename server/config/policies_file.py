"""The shop's own words, read at the start: MANGA_POLICIES_FILE and MANGA_TAGS_FILE."""

from __future__ import annotations

from dataclasses import replace

from server.config.parsing import SettingError
from server.config.settings import DEMO, Settings
from tools.store.models.order import Policies
from tools.store.records.policies_file import PoliciesFileError, load
from tools.store.tags import TagsFileError, Vocabulary, load_vocabulary


def read_policies(settings: Settings) -> Policies:
    """Of a shop that names no file there are none, the demo shop aside. Raises `SettingError` for a file that cannot be
    used."""
    file = settings.policies_file or (DEMO / "policies.md" if settings.is_demo else None)
    try:
        return replace(load(file) if file else Policies(), shop=settings.shop_name)
    except PoliciesFileError as error:
        raise SettingError(f"MANGA_POLICIES_FILE: {error}") from None


def read_vocabulary(settings: Settings) -> Vocabulary:
    """Raises `SettingError` for a file that cannot be used."""
    try:
        return load_vocabulary(settings.tags_file)
    except TagsFileError as error:
        raise SettingError(f"MANGA_TAGS_FILE: {error}") from None
