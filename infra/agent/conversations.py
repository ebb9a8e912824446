"""What was said so far, for the conversations that were heard of last."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from strands.types.content import Message, Messages

MOST_MESSAGES = 40
"""Of one conversation, the newest; cut where a customer speaks, because a tool's result belongs to its call."""


@dataclass(slots=True)
class Conversation:
    """One at a time speaks in it."""

    name: str
    messages: Messages = field(default_factory=list)
    turns: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def said(self, question: str, answer: str) -> None:
        """A turn that did not get to its end: only what both said, because a call without its result is no conversation."""
        self.messages += [{"role": "user", "content": [{"text": question}]}]
        self.messages += [{"role": "assistant", "content": [{"text": answer}]}]

    def went_on(self, messages: Messages) -> None:
        """All that was said, calls and results among it."""
        first = max(0, len(messages) - MOST_MESSAGES)
        while first < len(messages) and not _customer_speaks(messages[first]):
            first += 1
        self.messages = list(messages[first:])


def _customer_speaks(message: Message) -> bool:
    return message["role"] == "user" and not any("toolResult" in block for block in message["content"])


class Conversations:
    """`most` of them; the one that was quiet for longest is forgotten, unless somebody is speaking in it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[str, Conversation] = OrderedDict()

    def of(self, name: str) -> Conversation:
        found = self._known.setdefault(name, Conversation(name))
        self._known.move_to_end(name)
        quiet = [each for each, of in self._known.items() if not of.lock.locked() and of is not found]
        for each in quiet[: max(0, len(self._known) - self._most)]:
            del self._known[each]
        return found
