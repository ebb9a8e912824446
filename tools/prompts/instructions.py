"""What every client is told of this server when it connects."""

from __future__ import annotations

from tools.prompts.rules import rules

LONGEST = 2048
"""Bytes; some clients cut off what is beyond."""
OPENING = "Tools of a Japanese manga store. The rules of its assistant:"


def instructions() -> str:
    """The line of each rule that is not for prompts alone. It names no tool: it is the same for all callers, and any tool
    may be off for one of them."""
    return "\n".join([OPENING, *(f"- {rule.line.text('en')}" for rule in rules().values() if not rule.prompt_only)])
