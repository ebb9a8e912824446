"""Proposals for an argument that somebody is typing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from tools.contract import ToolContext

MOST_VALUES = 100
"""Of an answer, as MCP has it."""

Completer = Callable[[ToolContext, str, Mapping[str, str]], Awaitable[Sequence[str]]]
"""(context, what was typed so far, the other arguments that are known) to values, likeliest first."""
