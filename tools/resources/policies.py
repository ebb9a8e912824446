"""manga://policies/{topic}: what the shop says of shipping, returns, payment and languages, in English and in Japanese.

Each topic is listed by itself as well, for clients that know nothing of templates.
"""

from __future__ import annotations

from collections.abc import Mapping

from tools.contract import ToolContext
from tools.primitives.resource import Contents, ReadHandler, Resource, ResourceTemplate
from tools.primitives.uri_template import UriTemplate
from tools.results.content import EmbeddedText
from tools.store.failures import NotFound
from tools.store.models.policies import LANGUAGES, TOPICS

MARKDOWN = "text/markdown"
HOUR_MS = 3_600_000
"""The file is read at the start of the server alone."""
ABOUT = {
    "shipping": ("Shipping", "What shipping costs, how long it takes, carriers, pre-orders and back-orders"),
    "returns": ("Returns and cancellations", "What can be returned until when, what is damaged or wrong, cancelling"),
    "payment": ("Payment and prices", "How to pay, when a card is charged, tax, why new books are never discounted"),
    "languages": ("Languages", "Which languages the books, the assistant and customer service are in; furigana"),
}
"""Title and description of each topic."""


async def read(context: ToolContext, given: Mapping[str, str]) -> Contents:
    return _told(context, given["topic"], given["uri"])


async def complete_topic(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    return [topic for topic in TOPICS if topic.startswith(typed.strip().lower())]


def _told(context: ToolContext, topic: str, uri: str) -> Contents:
    """One content a language: an agent reads whichever its customer speaks."""
    texts = [text for language in LANGUAGES if (text := context.store.policies.text(topic, language))]
    if not texts:
        raise NotFound(f"There is no such policy. There are: {', '.join(TOPICS)}.")
    return [EmbeddedText(uri, text, MARKDOWN) for text in texts]


def _reading(topic: str) -> ReadHandler:
    async def read_topic(context: ToolContext, given: Mapping[str, str]) -> Contents:
        return _told(context, topic, given["uri"])

    return read_topic


POLICIES = tuple(
    Resource(
        uri=f"manga://policies/{topic}",
        name=f"policy_{topic}",
        title=ABOUT[topic][0],
        description=f"The shop's own text, in English and Japanese. {ABOUT[topic][1]}.",
        handler=_reading(topic),
        mime_type=MARKDOWN,
        ttl_ms=HOUR_MS,
        subscribable=False,
    )
    for topic in TOPICS
)
POLICY = ResourceTemplate(
    uri_template=UriTemplate("manga://policies/{topic}"),
    name="policy",
    title="What the shop says",
    description=f"The shop's own text on one of: {', '.join(TOPICS)}; in English and Japanese.",
    handler=read,
    mime_type=MARKDOWN,
    completions={"topic": complete_topic},
    ttl_ms=HOUR_MS,
    subscribable=False,
)
