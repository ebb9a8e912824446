"""Built-in resources and templates: policies, history, profile, titles, orders, and unshortened results."""

from __future__ import annotations

import json
from collections.abc import Mapping

from session import preferences
from session.failures import MemoryUnavailable
from session.history import Recollection
from session.profile import KEPT_DAYS, RECALLED, EventKind
from tools.contract import Json, ToolContext
from tools.primitives.completions import complete_order_id, complete_title_id
from tools.primitives.resource import Contents, ReadFallback, Resource, ResourceTemplate, UriTemplate
from tools.recommend.taste import gather_two
from tools.results.content import EmbeddedText
from tools.results.history import summarise
from tools.results.orders import present_order, read_own_order
from tools.results.rows import join_offers, read_details, read_names, recall_details
from tools.schema.text import limit_json
from tools.store.failures import DependencyFailure, Forbidden, NotFound
from tools.store.models.order import Policies

# manga://policies/{topic}: the shop's texts on shipping, returns and other topics, in its languages.
#
# Each topic is also listed as a resource, for clients that do not support templates.


MARKDOWN = "text/markdown"
TTL_MS = 300_000
"""Milliseconds that clients may cache a policy text."""
ABOUT = {
    "shipping": ("Shipping", "What shipping costs, how long it takes, carriers, pre-orders and back-orders"),
    "returns": ("Returns and cancellations", "What can be returned until when, what is damaged or wrong, cancelling"),
    "payment": ("Payment and prices", "How to pay, when a card is charged, tax, prices"),
    "languages": ("Languages", "Which languages the books, the assistant and customer service are in"),
}
"""Title and description of the topics that most shops have."""
_LANGUAGES = {"en": "English", "ja": "Japanese"}


def resources_of(policies: Policies) -> tuple[Resource | ResourceTemplate, ...]:
    """Returns a resource for each policy topic, and a template for all topics; () for a shop without policies."""
    if not policies.topics:
        return ()
    template = ResourceTemplate(
        uri_template=UriTemplate("manga://policies/{topic}"),
        name="policy",
        title="What the shop says",
        description=f"The shop's own text on one of: {', '.join(policies.topics)}.",
        handler=read_policy,
        mime_type=MARKDOWN,
        completions={"topic": complete_topic},
        ttl_ms=TTL_MS,
        subscribable=False,
    )
    return (*(_make_resource(policies, topic) for topic in policies.topics), template)


def _make_resource(policies: Policies, topic: str) -> Resource:
    title, about = ABOUT.get(topic, (topic.replace("-", " ").capitalize(), ""))
    languages = " and in ".join(_LANGUAGES[each] for each in policies.languages(topic))
    return Resource(
        uri=f"manga://policies/{topic}",
        name=f"policy_{topic.replace('-', '_')}",
        title=title,
        description=" ".join(filter(None, (f"The shop's own text, in {languages}.", about and f"{about}."))),
        handler=read_policy,
        mime_type=MARKDOWN,
        ttl_ms=TTL_MS,
        subscribable=False,
    )


async def complete_topic(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    return [topic for topic in context.store.policies.topics if topic.startswith(typed.strip().lower())]


async def read_policy(context: ToolContext, given: Mapping[str, str]) -> Contents:
    """Returns the shop's policy on a topic, one text per language. The topic is the template's variable, or else the last
    segment of the resource's URI. Raises `NotFound` for an unknown topic."""
    policies, topic = context.store.policies, given.get("topic") or given["uri"].rpartition("/")[2]
    if topic not in policies.topics:
        raise NotFound(f"There is no such policy. There are: {', '.join(policies.topics)}.")
    return [EmbeddedText(given["uri"], policies.text(topic, each), MARKDOWN) for each in policies.languages(topic)]


JSON_TYPE = "application/json"


def document(context: ToolContext, uri: str, value: Json) -> Contents:
    """Returns the value as compact JSON, in the shop's currency and shortened by `limit_json`. If parts are missing, adds
    `degraded` with their names."""
    if context.degraded:
        value = value | {"degraded": sorted(context.degraded)}
    text = json.dumps(limit_json(context.store.currency.show(value)), ensure_ascii=False, separators=(",", ":"))
    return [EmbeddedText(uri, text, JSON_TYPE)]


async def read_history(context: ToolContext, given: Mapping[str, str]) -> Contents:
    past = await context.session.recall() if context.session else Recollection()
    return [EmbeddedText(given["uri"], summarise(past, past.calls, context.store.now().timestamp()))]


HISTORY = Resource(
    uri="manga://session/history",
    name="session_history",
    title="What was asked before",
    description="This conversation so far: its last 20 calls, latest first, with what was asked, what came of it and what "
    "was shown, and the list that was shown last, numbered. Read it when the customer refers to what you cannot see.",
    handler=read_history,
    ttl_ms=0,
    private=True,
)

ABOUT_PROFILE = (
    f"The latest {RECALLED} searches and titles viewed at most, each with when that was last, in UTC. They serve "
    f"recommendations. Each goes by itself after {KEPT_DAYS} days, and all at once when the customer asks the shop to "
    "forget them (python -m server forget). What they asked to be remembered is in preferences, each with the day on which "
    f"it was last stated: it goes {preferences.KEPT_DAYS} days after that, or by forget_preference. What was done just now "
    "may be missing for a moment. Orders are no part of it."
)


async def read_profile(context: ToolContext, given: Mapping[str, str]) -> Contents:
    """Reads the caller's profile. `obeyed` in the result: the conditions that searches derive from a preference; may be
    empty. Raises `Forbidden` for an anonymous caller."""
    store, deadline = context.store, context.deadline
    if context.user is None:
        raise Forbidden("Profiles are shown to signed-in customers only. Ask the customer to sign in.")
    profile, stated = await gather_two(
        store.profiles.recall(context.user, deadline), store.preferences.read(context.user, deadline)
    )
    viewed = profile.last(EventKind.VIEWED)
    names = await read_names(context, [event.subject for event in viewed])
    remembered = await store.preference_reader.read_all(stated, deadline)
    profile_document = {
        "searched": [{"words": event.subject, "at": event.at} for event in profile.last(EventKind.SEARCHED)],
        "viewed": [{"title_id": event.subject, "title": names.get(event.subject), "at": event.at} for event in viewed],
        "preferences": [
            {"preference": each.preference.text, "at": each.preference.at, "obeyed": each.understood} for each in remembered
        ],
        "kept_days": KEPT_DAYS,
        "about": ABOUT_PROFILE,
    }
    return document(context, given["uri"], profile_document)


PROFILE = Resource(
    uri="manga://profile",
    name="profile",
    title="What is remembered",
    description="What the shop remembers of the signed-in customer beyond the conversation: searches, titles viewed "
    "and what they asked to be remembered, with dates, how long they are kept, and how to have them forgotten.",
    handler=read_profile,
    mime_type=JSON_TYPE,
    private=True,
    personal=True,
    subscribable=False,
    scope="mcp:manga-tools:profile",
)


async def read_title(context: ToolContext, given: Mapping[str, str]) -> Contents:
    if not context.store.identifiers.titles.matches(given["title_id"]):
        raise NotFound("There is no title with this id. The completions of title_id find ids by names.")
    facts = await read_details(context, {"title_id": given["title_id"]})
    return document(context, given["uri"], await join_offers(context, facts))


async def read_last_known_title(context: ToolContext, given: Mapping[str, str]) -> Contents:
    facts = await recall_details(context, {"title_id": given["title_id"]})
    context.degraded.add("catalog")
    return document(context, given["uri"], await join_offers(context, facts))


TITLES = ResourceTemplate(
    uri_template=UriTemplate("manga://titles/{title_id}"),
    name="title",
    title="A manga of the store",
    description="Everything known of one title: names in each script, authors, synopsis, volumes, years, rating, related "
    "titles, prices and stock as they are now.",
    handler=read_title,
    mime_type=JSON_TYPE,
    completions={"title_id": complete_title_id},
    ttl_ms=5000,  # as long as its stock is fresh
    fallback=ReadFallback("last_known_details", read_last_known_title),
    subscribable=False,
)


async def read_order(context: ToolContext, given: Mapping[str, str]) -> Contents:
    order = await read_own_order(context, given["order_id"])
    if order is None:
        raise NotFound("There is no such order for this customer. The completions of order_id are the latest of theirs.")
    return document(context, given["uri"], present_order(order, context.store.now()))


ORDERS = ResourceTemplate(
    uri_template=UriTemplate("manga://orders/{order_id}"),
    name="order",
    title="An order",
    description="An order of the signed-in customer: what has become of it, items, totals, parcels and their progress.",
    handler=read_order,
    mime_type=JSON_TYPE,
    completions={"order_id": complete_order_id},
    ttl_ms=0,
    private=True,
    personal=True,
    subscribable=False,
    scope="mcp:manga-tools:lookup_order",
)


async def read_result(context: ToolContext, given: Mapping[str, str]) -> Contents:
    """Reads the unshortened result of a call. Raises `NotFound` alike for unknown ids, expired ids and ids of other callers,
    and `DependencyFailure` if Redis fails."""
    try:
        whole = await context.session.whole_result(given["call_id"]) if context.session else None
    except MemoryUnavailable:
        raise DependencyFailure("Kept results cannot be read right now.", dependency="session") from None
    if whole is None:
        raise NotFound("No result is kept here under this id. Call the tool again, with offset for what it left out.")
    return [EmbeddedText(given["uri"], whole.decode(), JSON_TYPE)]


RESULTS = ResourceTemplate(
    uri_template=UriTemplate("manga://session/results/{call_id}"),
    name="session_result",
    title="A whole result",
    description="All of a result of this conversation that was shortened, as JSON: it has more fields and rows than was "
    "sent. The last five are kept, for half an hour. Read it only where what was left out is needed.",
    handler=read_result,
    mime_type=JSON_TYPE,
    ttl_ms=0,
    private=True,
)
