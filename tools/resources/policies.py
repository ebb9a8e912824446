"""manga://policies/{topic}: what the shop says of shipping, returns and whatever else it has written, in its languages.

Each topic is listed by itself as well, for clients that know nothing of templates.
"""

from __future__ import annotations

from collections.abc import Mapping

from tools.contract import ToolContext
from tools.primitives.resource import Contents, ReadHandler, Resource, ResourceTemplate, UriTemplate
from tools.results.content import EmbeddedText
from tools.store.failures import NotFound
from tools.store.models.order import Policies

MARKDOWN = "text/markdown"
TTL_MS = 300_000
"""The time in which a changed text reaches clients that keep it."""
ABOUT = {
    "shipping": ("Shipping", "What shipping costs, how long it takes, carriers, pre-orders and back-orders"),
    "returns": ("Returns and cancellations", "What can be returned until when, what is damaged or wrong, cancelling"),
    "payment": ("Payment and prices", "How to pay, when a card is charged, tax, prices"),
    "languages": ("Languages", "Which languages the books, the assistant and customer service are in"),
}
"""Title and description of the topics that most shops have."""
_LANGUAGES = {"en": "English", "ja": "Japanese"}


def resources_of(policies: Policies) -> tuple[Resource | ResourceTemplate, ...]:
    """Returns a resource for each topic of the shop, and the template of all; nothing for a shop that has written none."""
    topics = [_make_resource(policies, topic) for topic in policies.topics]
    return (*topics, _make_template(policies)) if topics else ()


async def complete_topic(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    return [topic for topic in context.store.policies.topics if topic.startswith(typed.strip().lower())]


def _make_reader(topic: str | None = None) -> ReadHandler:
    """Makes a handler that reads this topic, or that of the template's variable; one content a language."""

    async def read_policy(context: ToolContext, given: Mapping[str, str]) -> Contents:
        policies, name = context.store.policies, given["topic"] if topic is None else topic
        if name not in policies.topics:
            raise NotFound(f"There is no such policy. There are: {', '.join(policies.topics)}.")
        return [EmbeddedText(given["uri"], policies.text(name, each), MARKDOWN) for each in policies.languages(name)]

    return read_policy


def _make_resource(policies: Policies, topic: str) -> Resource:
    title, about = ABOUT.get(topic, (topic.replace("-", " ").capitalize(), ""))
    languages = " and in ".join(_LANGUAGES[each] for each in policies.languages(topic))
    return Resource(
        uri=f"manga://policies/{topic}",
        name=f"policy_{topic.replace('-', '_')}",
        title=title,
        description=" ".join(filter(None, (f"The shop's own text, in {languages}.", about and f"{about}."))),
        handler=_make_reader(topic),
        mime_type=MARKDOWN,
        ttl_ms=TTL_MS,
        subscribable=False,
    )


def _make_template(policies: Policies) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=UriTemplate("manga://policies/{topic}"),
        name="policy",
        title="What the shop says",
        description=f"The shop's own text on one of: {', '.join(policies.topics)}.",
        handler=_make_reader(),
        mime_type=MARKDOWN,
        completions={"topic": complete_topic},
        ttl_ms=TTL_MS,
        subscribable=False,
    )
