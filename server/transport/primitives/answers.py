"""What came of reading something, as MCP carries it. There is no result that says of itself that it failed, as a tool's
does: a failure is an error of JSON-RPC."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from server.call import Call, Outcome
from server.content_blocks import content_blocks, within_bounds
from server.envelope import envelope
from tools.primitives.prompt import Prompt
from tools.primitives.resource import Resource, ResourceTemplate
from tools.store.failures import CallerFailure

Json = dict[str, Any]


def read_result(resource: Resource | ResourceTemplate, uri: str, call: Call, outcome: Outcome) -> Json:
    value_of(call, outcome, uri=uri)
    return {
        "resultType": "complete",
        "contents": [block["resource"] | meta_of(resource) for block in _blocks(outcome, uri=uri)],
        "ttlMs": resource.ttl_ms,
        "cacheScope": cache_scope(resource.private or bool(resource.scope)),
    }


def prompt_result(prompt: Prompt, call: Call, outcome: Outcome) -> Json:
    roles = value_of(call, outcome)["roles"]
    blocks = _blocks(outcome)
    messages = [{"role": role, "content": block} for role, block in zip(roles, blocks, strict=True)]
    return {"resultType": "complete", "description": prompt.description, "messages": messages}


def completion_result(call: Call, outcome: Outcome) -> Json:
    value = value_of(call, outcome)
    more = value["total"] > len(value["values"])
    return {"resultType": "complete", "completion": {**value, "hasMore": more}}


def value_of(call: Call, outcome: Outcome, **also: str) -> Json:
    """Returns the value. Raises the failure: the caller's to mend is -32602, all else -32603; `also` goes into the data,
    beside what a failed tool would have said there."""
    if outcome.failure is None:
        return outcome.value or {}
    error = envelope(call, outcome.failure)["error"]
    code = types.INVALID_PARAMS if isinstance(outcome.failure, CallerFailure) else types.INTERNAL_ERROR
    raise MCPError(code, error["message"], {**also, "name": error["name"], **error["data"]})


def _blocks(outcome: Outcome, **also: str) -> list[Json]:
    """Returns all of the content. Raises where it is not whole: unlike a tool's, it is all that there is."""
    if not outcome.content or len(within_bounds(outcome.content)) < len(outcome.content):
        raise MCPError(types.INTERNAL_ERROR, "There is nothing in it, or more than is served.", also)
    return content_blocks(outcome.content)


def meta_of(value: Resource | ResourceTemplate) -> Json:
    """What it says of itself, in the list and with what is read: some hosts heed the one, some the other."""
    return {"_meta": value.meta} if isinstance(value, Resource) and value.meta else {}


def cache_scope(private: bool) -> str:
    return "private" if private else "public"
