"""Answers one question of one customer, in time: from what the store's tools say, or in words that say what is missing."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from strands import Agent
from strands.models import Model

from infra.agent.calls import Calls
from infra.agent.conversations import Conversation, Conversations
from infra.agent.link import Connection, StoreLink
from infra.agent.traces import OUTCOME, turn_span
from infra.agent.turns import StateTheTurn, Turn

logger = logging.getLogger(__name__)

STEPS = 2
"""Rounds of tools that a question is reckoned with."""
MOST_CONVERSATIONS = 1000
Outcome = Literal["answered", "store_away", "late", "model_away"]
WORDS: dict[Outcome, str] = {
    "store_away": "I cannot look at our shelves at the moment. Please ask me again in a minute.",
    "late": "That took me too long, and I do not want to keep you waiting. Please ask me once more.",
    "model_away": "I am sorry, I cannot think clearly at the moment. Please ask me again in a minute.",
}


@dataclass(slots=True)
class Answer:
    """`calls` are the tools that were asked; `took_ms` is from the question's arrival on."""

    conversation: str
    turn: str
    outcome: Outcome
    answer: str
    calls: list[dict[str, Any]] = field(default_factory=list)
    took_ms: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Answering:
    """`patience_ms` is what a customer waits for at most: a turn that is not done by then is answered in words and given up.
    The server hears of it as the turn's budget, which shrinks from call to call."""

    def __init__(self, link: StoreLink, model: Model, patience_ms: int) -> None:
        self._link = link
        self._model = model
        self._patience_ms = patience_ms
        self._conversations = Conversations(MOST_CONVERSATIONS)
        self._working: set[asyncio.Task[Answer]] = set()
        self.open_turns = 0

    async def answer(self, name: str, message: str, user: str | None) -> Answer:
        """Never raises, and never takes longer than the patience."""
        self.open_turns += 1
        began = time.monotonic()
        conversation = self._conversations.of(name)
        conversation.turns += 1
        # With something of its own: this process may have forgotten how many turns there were.
        turn = Turn(name, f"{name}.{conversation.turns}-{uuid.uuid4().hex[:6]}", user, STEPS, self._patience_ms)
        turn.begin()
        try:
            with turn_span() as span:
                made = await self._in_time(conversation, turn, message)
                span.set_attribute(OUTCOME, made.outcome)
        finally:
            self.open_turns -= 1
        made.took_ms = round((time.monotonic() - began) * 1000)
        return made

    async def _in_time(self, conversation: Conversation, turn: Turn, message: str) -> Answer:
        """A task that is late is told to end and not waited for."""
        task = asyncio.create_task(self._alone(conversation, turn, message), name=turn.turn)
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        await asyncio.wait({task}, timeout=self._patience_ms / 1000)
        if not task.done():
            task.cancel()
            return Answer(conversation.name, turn.turn, "late", WORDS["late"])
        try:
            return task.result()
        except Exception:
            logger.exception("turn %s: the model failed", turn.turn)
            return Answer(conversation.name, turn.turn, "model_away", WORDS["model_away"])

    async def _alone(self, conversation: Conversation, turn: Turn, message: str) -> Answer:
        """After those who asked before in the same conversation."""
        async with conversation.lock:
            connection = self._link.connection
            if connection is None:
                conversation.said(message, WORDS["store_away"])
                return Answer(conversation.name, turn.turn, "store_away", WORDS["store_away"])
            return await self._with_tools(connection, conversation, turn, message)

    async def _with_tools(self, connection: Connection, conversation: Conversation, turn: Turn, message: str) -> Answer:
        """An agent for each turn: the connection may be another than the last turn's, and with it the tools."""
        calls = Calls()
        agent = Agent(
            model=self._model,
            messages=list(conversation.messages),
            tools=list(connection.tools),
            system_prompt=connection.prompt.text,
            hooks=[StateTheTurn(), calls],
            callback_handler=None,
        )
        said = str(await agent.invoke_async(message, invocation_state={"turn": turn})).strip()
        if calls.unreached:
            conversation.said(message, WORDS["store_away"])
            return Answer(conversation.name, turn.turn, "store_away", WORDS["store_away"], calls.made)
        conversation.went_on(agent.messages)
        return Answer(conversation.name, turn.turn, "answered", said, calls.made)
