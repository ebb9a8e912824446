"""The shop's own words, read at the start: MANGA_POLICIES_FILE and MANGA_TAGS_FILE."""

from __future__ import annotations

from dataclasses import replace

from server.config.parsing import SettingError
from server.config.settings import Settings
from tools.store.models.order import Policies
from tools.store.records.policies_file import PoliciesFileError, load
from tools.store.tags import TagsFileError, Vocabulary, load_vocabulary


def read_policies(settings: Settings) -> Policies:
    """Raises `SettingError` for a file that cannot be used."""
    try:
        return replace(load(settings.policies_file), shop=settings.shop_name)
    except PoliciesFileError as error:
        raise SettingError(f"MANGA_POLICIES_FILE: {error}") from None


def read_vocabulary(settings: Settings) -> Vocabulary:
    """Raises `SettingError` for a file that cannot be used."""
    try:
        return load_vocabulary(settings.tags_file)
    except TagsFileError as error:
        raise SettingError(f"MANGA_TAGS_FILE: {error}") from None
