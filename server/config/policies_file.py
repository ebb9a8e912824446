"""MANGA_POLICIES_FILE, read at the start."""

from __future__ import annotations

from dataclasses import replace

from server.config.parsing import SettingError
from server.config.settings import Settings
from tools.store.models.policies import Policies
from tools.store.records.policies_file import PoliciesFileError, load


def read_policies(settings: Settings) -> Policies:
    """Raises `SettingError` for a file that cannot be used."""
    try:
        return replace(load(settings.policies_file), shop=settings.shop_name)
    except PoliciesFileError as error:
        raise SettingError(f"MANGA_POLICIES_FILE: {error}") from None
