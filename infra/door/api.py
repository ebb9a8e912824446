"""Definitions for API Gateway: headers that identify a message's sender, schema of messages, log line, the agent's port."""

from __future__ import annotations

from typing import Any

from infra.door.limits import MOST_CHARACTERS

AGENT_PORT = 8081
HEADERS = {
    "X-Door-Connection": "context.connectionId",
    "X-Door-User": "context.authorizer.user",
    "X-Door-Until": "context.authorizer.until",
}
LOGGED = {
    "at": "$context.requestTimeEpoch",
    "request": "$context.requestId",
    "route": "$context.routeKey",
    "event": "$context.eventType",
    "status": "$context.status",
    "ms": "$context.integrationLatency",
    "authorizer": "$context.authorizer.status",
}
"""Fields of a log line, none of which has an address, name, connection or words."""
MESSAGE: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "title": "Message",
    "type": "object",
    "required": ["text"],
    "additionalProperties": False,
    "properties": {
        "text": {"type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS},
        "session": {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"},
    },
}
