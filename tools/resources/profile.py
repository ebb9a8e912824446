"""manga://profile: what is remembered of a customer beyond the conversation, as the customer may read it."""

from __future__ import annotations

from collections.abc import Mapping

from session import preferences
from session.profile import KEPT_DAYS, RECALLED, Event, EventKind, Profile
from session.stated_preferences import Preferences
from tools.contract import Json, ToolContext
from tools.primitives.resource import Contents, Resource
from tools.recommend.together import both
from tools.resources.document import JSON_TYPE, document
from tools.results.rows import names_of
from tools.store.failures import Forbidden

ABOUT = (
    f"The latest {RECALLED} searches and titles viewed at most, each with when that was last, in UTC. They serve "
    f"recommendations. Each goes by itself after {KEPT_DAYS} days, and all at once when the customer asks the shop to "
    "forget them (python -m server forget). What they asked to be remembered is in preferences, each with the day on which "
    f"it was last stated: it goes {preferences.KEPT_DAYS} days after that, or by forget_preference. What was done just now "
    "may be missing for a moment. Orders are no part of it."
)


async def read(context: ToolContext, given: Mapping[str, str]) -> Contents:
    if context.user is None:
        raise Forbidden("What is remembered is shown to signed-in customers only. Ask the customer to sign in.")
    profile, stated = await both(
        context.store.profiles.recall(context.user, context.deadline),
        context.store.preferences.read(context.user, context.deadline),
    )
    return document(context, given["uri"], await _told(context, profile, stated))


async def _told(context: ToolContext, profile: Profile, stated: Preferences) -> Json:
    viewed = profile.last(EventKind.VIEWED)
    names = await names_of(context, [event.subject for event in viewed])
    return {
        "searched": [{"words": event.subject, "at": event.at} for event in profile.last(EventKind.SEARCHED)],
        "viewed": [_viewed(event, names) for event in viewed],
        "preferences": await _preferences(context, stated),
        "kept_days": KEPT_DAYS,
        "about": ABOUT,
    }


async def _preferences(context: ToolContext, stated: Preferences) -> list[Json]:
    """`obeyed`: what searches and recommendations make of it; nothing where it is a note for the assistant."""
    heard = await context.store.preference_reader.all(stated, context.deadline)
    return [{"preference": each.preference.text, "at": each.preference.at, "obeyed": each.understood} for each in heard]


def _viewed(event: Event, names: Mapping[str, str]) -> Json:
    return {"title_id": event.subject, "title": names.get(event.subject), "at": event.at}


PROFILE = Resource(
    uri="manga://profile",
    name="profile",
    title="What is remembered",
    description="What the shop remembers of the signed-in customer beyond the conversation: searches, titles viewed "
    "and what they asked to be remembered, with dates, how long they are kept, and how to have them forgotten.",
    handler=read,
    mime_type=JSON_TYPE,
    private=True,
    personal=True,
    subscribable=False,
    scope="mcp:manga-tools:profile",
)
