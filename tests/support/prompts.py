"""Prompts as a client gets them, and what a test looks for in one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.client import Client

from tools.registry import TOOLS

ERA = "auto"
OWNER = {"com.mangaassist/userId": "u"}
EVERYTHING: Mapping[str, Mapping[str, str]] = {
    "shopping_assistant": {},
    "find_a_gift": {"for_whom": "my niece", "age": "10", "budget": "3000", "likes": "cats", "dislikes": "gore"},
    "continue_a_series": {"title": "ワンピース", "last_volume": "12"},
    "track_my_order": {},
}
"""The prompts, each with arguments as somebody gives them."""


async def text_of(client: Client, name: str, given: Mapping[str, str] | None = None, meta: Any = None) -> str:
    made = await client.get_prompt(name, dict(given or {}), meta=meta)
    [message] = made.messages
    assert message.role == "user"
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def named_tools(text: str) -> set[str]:
    return {tool.name for tool in TOOLS if tool.name in text}


def told_arguments(text: str, tool: str) -> dict[str, Any]:
    """Those with which a step says to call the tool."""
    [line] = [line for line in text.splitlines() if re.match(r"\d+\. ", line) and tool in line and "{" in line]
    found: dict[str, Any] = json.loads(line[line.index("{") :])
    return found
