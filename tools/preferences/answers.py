"""Shared by remember_preference and forget_preference: the list of preferences, changes to it, card numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from session.preferences import Preference
from session.stated_preferences import Change, Changed
from tools.contract import Json, ToolContext
from tools.schema.parts import STRINGS
from tools.store.failures import Forbidden, ServerBusy, Violation
from tools.store.preferences import Heard
from tools.store.search.text.characters import normalise

KEPT: Json = {"preferences": STRINGS}
"""A property of an output schema: all that is kept, the oldest first."""
SIGN_IN = "Preferences are remembered for signed-in customers only. Ask the customer to sign in."
BUSY = "The same customer's preferences are being changed elsewhere; nothing was changed by this call. Try again."
NOT_EVERYWHERE = "Calls may use the former preferences for up to half an hour."


def one_line(text: str) -> str:
    return " ".join(text.split())


def check_not_blank(asked: Json) -> list[Violation]:
    """A violation for blank text."""
    if not isinstance(asked.get("preference"), str) or asked["preference"].strip():
        return []
    return [Violation("$.preference", "minLength", "it says nothing", "give the customer's words")]


def list_kept(preferences: Iterable[Preference]) -> Json:
    return {"preferences": [each.text for each in preferences]}


async def change_preferences(context: ToolContext, change: Change) -> Changed:
    """Changes the preferences; returns once the store has confirmed it. Raises `Forbidden` for an anonymous caller,
    `ServerBusy`, and `BackendFailure` if the outcome is unknown."""
    if context.user is None:
        raise Forbidden(SIGN_IN)
    done = await context.store.preferences.change(context.user, change, context.deadline)
    if done is None:
        raise ServerBusy(BUSY)
    return done


GROUPS = re.compile(r"[0-9]+(?:[ ./-]+[0-9]+)*")
LEAST, MOST = 13, 19
"""Digits of a number (ISO/IEC 7812-1)."""


def contains_card_number(text: str) -> bool:
    """True if any number in the text has a card's check digit, however it is parted and whatever is beside it."""
    return any(
        _passes_luhn(number) for match in GROUPS.finditer(text) for number in _numbers(re.findall("[0-9]+", match[0]))
    )


def _numbers(groups: list[str]) -> Iterator[str]:
    """All numbers that consecutive groups of digits make."""
    for first in range(len(groups)):
        number = ""
        for group in groups[first:]:
            number += group
            if len(number) > MOST:
                break
            if len(number) >= LEAST:
                yield number


def _passes_luhn(digits: str) -> bool:
    """Applies Luhn's formula (ISO/IEC 7812-1, annex B): every second digit from the right is doubled."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0


def drop_replaced(before: Sequence[Heard], new: Heard) -> tuple[Preference, ...]:
    """The preferences that the new one does not replace, in their order."""
    return tuple(each.preference for each in before if not replaces(new, each))


def replaces(new: Heard, old: Heard) -> bool:
    """True if the new one says the same in the same words, restates or contradicts all of the old one ("I don't like
    gore", then "nothing bloody" or "gore is fine now"), or rules out all that the old one welcomed."""
    if normalise(new.preference.text) == normalise(old.preference.text):
        return True
    if new.of_another or old.of_another or old.unread:
        return False
    if old.is_obeyed:
        return new.stance.stated and not new.stance.adds_to(old.stance.conditions).stated
    unwanted, no_genres = new.stance.conditions.without_tags, new.stance.conditions.without_genres
    return bool(old.stance.welcome.intersection(unwanted) or old.stance.welcome_genres.intersection(no_genres))
