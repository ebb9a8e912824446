"""What a new statement leaves of those before it."""

from __future__ import annotations

from collections.abc import Sequence

from session.preferences import Preference
from tools.store.preferences.reader import Heard
from tools.store.search.text.characters import normalise


def not_replaced(before: Sequence[Heard], new: Heard) -> tuple[Preference, ...]:
    """Those that still say something beside it, in their order."""
    return tuple(each.preference for each in before if not replaces(new, each))


def replaces(new: Heard, old: Heard) -> bool:
    """Whether it says the same in the same words, or all that the old one states again or otherwise ("I don't like gore",
    then "nothing bloody" or "gore is fine now"), or rules out what the old one welcomed and nothing else."""
    if normalise(new.preference.text) == normalise(old.preference.text):
        return True
    if new.of_another or old.of_another or old.unread:
        return False
    if old.obeyed:
        return new.stance.stated and not new.stance.adds_to(old.stance.conditions).stated
    unwanted, no_genres = new.stance.conditions.without_tags, new.stance.conditions.without_genres
    return bool(old.stance.welcome.intersection(unwanted) or old.stance.welcome_genres.intersection(no_genres))
