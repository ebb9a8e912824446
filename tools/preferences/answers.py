"""What both tools say: the list of what is kept, and that only those who are known have one."""

from __future__ import annotations

from collections.abc import Iterable

from session.preferences import Preference
from session.stated_preferences import Change, Changed
from tools.contract import Json, ToolContext
from tools.schema.parts import STRINGS
from tools.store.failures import Forbidden, ServerBusy, Violation

KEPT: Json = {"preferences": STRINGS}
"""A property of an output schema: all that is kept, the oldest first."""
SIGN_IN = "Preferences are remembered for signed-in customers only. Ask the customer to sign in."
BUSY = "The same customer's preferences are being changed elsewhere; nothing was changed by this call. Try again."
NOT_EVERYWHERE = "Calls may go by what was known before for up to half an hour."


def one_line(text: str) -> str:
    return " ".join(text.split())


def says_something(asked: Json) -> list[Violation]:
    """Spaces are no words."""
    if not isinstance(asked.get("preference"), str) or asked["preference"].strip():
        return []
    return [Violation("$.preference", "minLength", "it says nothing", "give the customer's words")]


def kept(preferences: Iterable[Preference]) -> Json:
    return {"preferences": [each.text for each in preferences]}


async def changed(context: ToolContext, change: Change) -> Changed:
    """Returns once the store has confirmed it. Raises `Forbidden` for whoever is not signed in, `ServerBusy`, and
    `BackendFailure` where it is not known what has become of it."""
    if context.user is None:
        raise Forbidden(SIGN_IN)
    done = await context.store.preferences.change(context.user, change, context.deadline)
    if done is None:
        raise ServerBusy(BUSY)
    return done
