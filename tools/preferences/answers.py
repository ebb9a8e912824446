"""Changes a customer's list of preferences, decides which preferences a new one replaces, and detects card numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from session.preferences import Preference
from session.stated_preferences import Change, Changed
from tools.contract import Json, ToolContext
from tools.schema.parts import STRINGS
from tools.store.failures import Forbidden, ServerBusy, Violation
from tools.store.preferences import ParsedPreference
from tools.store.search.text.characters import normalise

KEPT: Json = {"preferences": STRINGS}
"""Output schema property: all remembered preferences, oldest first."""
SIGN_IN = "Preferences are remembered for signed-in customers only. Ask the customer to sign in."
BUSY = "The same customer's preferences are being changed elsewhere; nothing was changed by this call. Try again."
NOT_EVERYWHERE = "Calls may use the former preferences for up to half an hour."


def one_line(text: str) -> str:
    return " ".join(text.split())


def check_not_blank(asked: Json) -> list[Violation]:
    if not isinstance(asked.get("preference"), str) or asked["preference"].strip():
        return []
    return [Violation("$.preference", "minLength", "it says nothing", "give the customer's words")]


def list_kept(preferences: Iterable[Preference]) -> Json:
    return {"preferences": [each.text for each in preferences]}


async def change_preferences(context: ToolContext, change: Change) -> Changed:
    """Changes the caller's preferences, and returns once the store has confirmed it. Raises `Forbidden` for an anonymous
    caller, `ServerBusy` if concurrent changes keep winning, and `BackendFailure`, perhaps after the change."""
    if context.user is None:
        raise Forbidden(SIGN_IN)
    done = await context.store.preferences.change(context.user, change, context.deadline)
    if done is None:
        raise ServerBusy(BUSY)
    return done


GROUPS = re.compile(r"[0-9]+(?:[ ./-]+[0-9]+)*")
LEAST, MOST = 13, 19
"""Least and most digits of a card number (ISO/IEC 7812-1)."""


def contains_card_number(text: str) -> bool:
    """True if the text contains a number with the length and check digit of a payment card, however its digits are
    grouped."""
    return any(
        _passes_luhn(number) for match in GROUPS.finditer(text) for number in _numbers(re.findall("[0-9]+", match[0]))
    )


def _numbers(groups: list[str]) -> Iterator[str]:
    """Yields every number of a card's length that consecutive groups of digits form."""
    for first in range(len(groups)):
        number = ""
        for group in groups[first:]:
            number += group
            if len(number) > MOST:
                break
            if len(number) >= LEAST:
                yield number


def _passes_luhn(digits: str) -> bool:
    """Checks Luhn's formula (ISO/IEC 7812-1, annex B): every second digit from the right is doubled."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return not (sum(map(int, digits[::-2])) + sum(doubled)) % 10


def replaces(new: ParsedPreference, old: ParsedPreference) -> bool:
    """True if the new preference has the same words as the old one, restates or contradicts all conditions of the old
    one, or excludes a tag or readership that an old one without conditions likes. "Nothing bloody" and "gore is fine now"
    replace "I don't like gore". If either is about another reader, only the same words count."""
    if normalise(new.preference.text) == normalise(old.preference.text):
        return True
    if new.of_another or old.of_another or old.unread:
        return False
    if old.is_obeyed:
        return new.stance.stated and not new.stance.adds_to(old.stance.conditions).stated
    unwanted, no_genres = new.stance.conditions.without_tags, new.stance.conditions.without_genres
    return bool(old.stance.welcome.intersection(unwanted) or old.stance.welcome_genres.intersection(no_genres))
