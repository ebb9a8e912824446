"""What a prompt is: a value. It makes the messages with which a conversation, or a task in one, begins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tools.contract import ToolContext
from tools.primitives.completion import Completer
from tools.results.content import Content

LONGEST_ARGUMENT = 2000


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["user", "assistant"]
    content: Content


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """Text of at most 2,000 characters. `completer` proposes values, where there are any to propose."""

    name: str
    description: str
    required: bool = False
    completer: Completer | None = None


PromptHandler = Callable[[ToolContext, Mapping[str, str]], Awaitable[Sequence[Message]]]
"""(context, checked arguments) to at least one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """`scope` is what a token must grant to get it, "" for nothing; each making of a `personal` one, and each proposal for
    an argument of it, leaves a line in the audit; `asks` is for one whose handler may ask the client something. A handler
    has `timeout_ms`, and may not write."""

    name: str
    title: str
    description: str
    handler: PromptHandler
    arguments: tuple[PromptArgument, ...] = ()
    scope: str = ""
    personal: bool = False
    asks: bool = False
    timeout_ms: int = 300
