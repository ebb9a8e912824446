"""Words of the catalogue that somebody may be typing: tags, and readerships."""

from __future__ import annotations

from collections.abc import Mapping

from tools.contract import ToolContext
from tools.store.failures import BackendFailure
from tools.store.identifiers import GENRES

MOST = 50
SPELLED = {
    "shonen": ("shounen", "少年", "しょうねん", "boys"),
    "seinen": ("青年", "せいねん", "men"),
    "shojo": ("shoujo", "少女", "しょうじょ", "girls"),
    "josei": ("女性", "じょせい", "women"),
    "kodomo": ("子供", "子ども", "こども", "児童", "children", "kids"),
}
"""How else the readerships are written."""


async def complete_tag(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Tags in which a word begins so, those of the most titles first; as far as the catalogue says them in time."""
    try:
        tags = (await context.store.catalog.terms(context.deadline)).tags
    except BackendFailure:
        return []
    begun = [tag for tag in tags if f" {typed.strip().casefold()}" in f" {tag.casefold()}"]
    return sorted(begun, key=lambda tag: (-tags[tag], tag))[:MOST]


async def complete_genre(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Readerships, however they are written."""
    start = typed.strip().casefold()
    return [genre for genre in GENRES if any(each.startswith(start) for each in (genre, *SPELLED[genre]))]
