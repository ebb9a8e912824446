"""manga://session/history: what happened in the conversation so far, for a model to be reminded of."""

from __future__ import annotations

from collections.abc import Mapping

from session.history import Recollection
from tools.contract import ToolContext
from tools.primitives.resource import Contents, Resource
from tools.results.content import EmbeddedText
from tools.results.history import summary


async def read(context: ToolContext, given: Mapping[str, str]) -> Contents:
    past = await context.session.recall() if context.session else Recollection()
    return [EmbeddedText(given["uri"], summary(past, past.calls, context.store.now().timestamp()))]


HISTORY = Resource(
    uri="manga://session/history",
    name="session_history",
    title="What was asked before",
    description="This conversation so far: its last 20 calls, latest first, with what was asked, what came of it and what "
    "was shown, and the list that was shown last, numbered. Read it when the customer refers to what you cannot see.",
    handler=read,
    ttl_ms=0,
    private=True,
)
