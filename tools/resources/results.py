"""manga://session/results/{call_id}: the whole result behind one that was shortened."""

from __future__ import annotations

from collections.abc import Mapping

from session.failures import MemoryUnavailable
from tools.contract import ToolContext
from tools.primitives.resource import Contents, ResourceTemplate, UriTemplate
from tools.resources.document import JSON_TYPE
from tools.results.content import EmbeddedText
from tools.store.failures import DependencyFailure, NotFound

NO_SUCH_RESULT = "No result is kept here under this id. Call the tool again, with offset for what it left out."
"""Whether it was another's, is gone, or never was: one answer."""


async def read(context: ToolContext, given: Mapping[str, str]) -> Contents:
    try:
        whole = await context.session.whole_result(given["call_id"]) if context.session else None
    except MemoryUnavailable:
        raise DependencyFailure("Kept results cannot be read right now.", dependency="session") from None
    if whole is None:
        raise NotFound(NO_SUCH_RESULT)
    return [EmbeddedText(given["uri"], whole.decode(), JSON_TYPE)]


RESULTS = ResourceTemplate(
    uri_template=UriTemplate("manga://session/results/{call_id}"),
    name="session_result",
    title="A whole result",
    description="All of a result of this conversation that was shortened, as JSON: it has more fields and rows than was "
    "sent. The last five are kept, for half an hour. Read it only where what was left out is needed.",
    handler=read,
    mime_type=JSON_TYPE,
    ttl_ms=0,
    private=True,
)
