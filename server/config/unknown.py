"""Variables that look like settings and are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches

from server.config.declaration import PREFIX
from server.config.settings import Settings


def unknown_settings(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Finds MANGA_ variables that are no settings, each with the setting that may have been meant. They stop nothing:
    other programs may share the prefix."""
    known = [PREFIX + each.name.upper() for each in fields(Settings)]
    unknown = (name for name in sorted(environment) if name.startswith(PREFIX) and name not in known)
    return {name: next(iter(get_close_matches(name, known, n=1, cutoff=0.8)), None) for name in unknown}
