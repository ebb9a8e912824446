"""Answers a customer's question within a time limit, in the model's words or, if the model fails, in prepared ones."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from strands import Agent
from strands.hooks import AfterModelCallEvent
from strands.models import Model
from strands.types.content import Messages

from infra.agent.bedrock import is_hopeless
from infra.agent.store import Store
from infra.agent.store_tools import UNREACHED, StoreTools
from infra.agent.traces import OUTCOME, turn_span
from infra.agent.words import sentence, tell_known

logger = logging.getLogger(__name__)

MOST_CONVERSATIONS, MOST_OF_ONE = 1000, 10
"""Most conversations that are kept, and most that one customer keeps when some must go."""
FIRST_WORDS_SECONDS = 0.8
"""Seconds without any words after which the customer is told that the agent is looking."""
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can state and no text in UTF-8 can hold."""
AGAIN_SECONDS = 0.1
A_STEP_MS = 500
"""Least milliseconds left for repeating a failed step of the model."""
Outcome = Literal["answered", "store_away", "late", "model_away"]


@dataclass(frozen=True, slots=True)
class Done:
    """Result of a turn: one question and its answer. `turn`: the turn's id; `ms`: how long it took. `calls` lists the tool
    calls made; `spent` maps "model", "tools" and "ours" (everything else) to milliseconds."""

    turn: str
    ms: int
    outcome: Outcome
    calls: list[dict[str, Any]]
    spent: dict[str, int]


@dataclass(slots=True)
class Conversation:
    messages: Messages = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Answering:
    """Answers questions, each within `patience_ms`. When the time is up, an answer ends with the results received so far.
    `turn_options` are keyword arguments of `StoreTools` for every turn. Keeps the conversations in memory."""

    def __init__(self, store: Store, model: Model, patience_ms: int, **turn_options: Any) -> None:
        self._store = store
        self._model = model
        self._patience = patience_ms / 1000
        self._turn_options: dict[str, Any] = turn_options
        self._conversations: OrderedDict[tuple[str, str | None], Conversation] = OrderedDict()
        self.open_turns = 0

    @asynccontextmanager
    async def answer(
        self, session: str, question: str, user: str | None, token: str | None = None
    ) -> AsyncIterator[AsyncGenerator[str | Done, None]]:
        """Yields the answer as a stream of texts that ends with a `Done`, once the conversation's earlier answers have
        ended. The stream raises nothing and ends within the time limit. `user`: None for a customer who is not signed in."""
        conversation = self._conversation(session, user)
        async with conversation.lock:
            about = {"session": session, "token": token, "seconds": self._patience, "skills": False, **self._turn_options}
            speech = TurnAnswer(question, StoreTools(self._store, user, **about))
            self.open_turns += 1
            task = asyncio.create_task(self._speak(speech, conversation.messages))
            try:
                async with aclosing(self._tell(speech)) as told:
                    yield told
            finally:
                self.open_turns -= 1
                task.cancel()
                await asyncio.wait({task}, timeout=self._patience)  # until then it may write into the conversation

    async def _tell(self, speech: TurnAnswer) -> AsyncGenerator[str | Done, None]:
        began, heard = time.monotonic(), False
        while True:
            until = began + (self._patience if heard else min(FIRST_WORDS_SECONDS, self._patience))
            try:
                text = await asyncio.wait_for(speech.words.get(), max(0.0, until - time.monotonic()))
            except TimeoutError:
                if heard:
                    speech.outcome = "late"
                    yield f" {speech.ending()}"
                    break
                speech.say(sentence("moment", speech.question))
                heard = True
                continue
            if not text:
                break
            heard = True
            yield text
        yield speech.done(began)

    async def _speak(self, speech: TurnAnswer, messages: Messages) -> None:
        with turn_span() as span:
            await speech.speak(self._model, messages)
            span.set_attribute(OUTCOME, speech.outcome)

    def _conversation(self, session: str, user: str | None) -> Conversation:
        """Returns the conversation of a session and user, creating it if absent. Beyond `MOST_CONVERSATIONS`, evicts the
        least recently used idle conversations, first those of customers with more than `MOST_OF_ONE`."""
        found = self._conversations.setdefault((session, user), Conversation())
        self._conversations.move_to_end((session, user))
        while len(self._conversations) > MOST_CONVERSATIONS:
            quiet = [name for name, each in self._conversations.items() if not each.lock.locked() and each is not found]
            if not quiet:
                break
            held = Counter[str | None](customer for _, customer in self._conversations if customer is not None)
            crowded = (name for name in quiet if held[name[1]] > MOST_OF_ONE)
            del self._conversations[next(crowded, quiet[0])]
        return found


class TurnAnswer:
    """Produces one turn's answer. `words` queues its texts in order; an empty string marks the end. `outcome` is final
    then."""

    def __init__(self, question: str, tools: StoreTools) -> None:
        self.question = question
        self.tools = tools
        self.words: asyncio.Queue[str] = asyncio.Queue()
        self.outcome: Outcome = "answered"
        self._told = False
        self._step = ""
        self._tried: set[int] = set()

    async def speak(self, model: Model, messages: Messages) -> None:
        """Runs the model, queues its words, and sets `outcome`. Updates `messages` in place unless the model fails. Each
        turn has an agent of its own, since a Strands agent answers only one question at a time."""
        said = ""
        try:
            agent = Agent(model, messages, plugins=[self.tools], callback_handler=None, retry_strategy=None)
            agent.add_hook(self._ask_again, AfterModelCallEvent)
            async for event in agent.stream_async(self.question):
                self._hear(event)
                said = str(event["result"]).strip() if "result" in event else said
            turn = self.tools.turn
            unreached = any(each["outcome"] == UNREACHED for each in turn.made) and not turn.results
            self.outcome = "late" if turn.late else "store_away" if turn.away or unreached else "answered"
            messages[:] = agent.messages
        except Exception as error:
            logger.warning("turn %s: the model failed: %r", self.tools.turn.name, error)
            self.outcome = "model_away"
        if self.outcome in ("late", "model_away") or not self._step:
            self.say(said if self.outcome in ("answered", "store_away") else self.ending())
        self.words.put_nowait("")

    def ending(self) -> str:
        """Returns the end of an answer that the model did not finish: the results received so far, or an apology."""
        reason = "cut" if self._step else "model_away" if self.outcome == "model_away" else "late"
        known = tell_known(self.tools.turn.results, self.question) or sentence(reason, self.question)
        return f" … {known}" if self._step else known

    def done(self, began: float) -> Done:
        ms, turn = round((time.monotonic() - began) * 1000), self.tools.turn
        turn.wait_for(None)
        spent = {part: turn.spent[part] for part in ("model", "tools")}
        return Done(turn.name, ms, self.outcome, turn.made, {**spent, "ours": max(0, ms - sum(spent.values()))})

    def _hear(self, event: dict[str, Any]) -> None:
        raw = event.get("event", {})
        if "messageStart" in raw or "toolUse" in raw.get("contentBlockStart", {}).get("start", {}):
            self._step = ""
        if text := event.get("data"):
            self.say(text)
            self._step += text

    def say(self, text: str) -> None:
        apart = " " if self._told and not self._step and not text[:1].isspace() else ""
        self.words.put_nowait(apart + LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text))
        self._told = True

    async def _ask_again(self, event: AfterModelCallEvent) -> None:
        """Makes Strands repeat a failed model call, once per step, unless the customer has read words of that step, a retry
        is hopeless, or less than `A_STEP_MS` is left."""
        turn = self.tools.turn
        if event.exception is None or self._step or is_hopeless(event.exception):
            return
        if turn.late or turn.left_ms < A_STEP_MS or turn.rounds in self._tried:
            return
        self._tried.add(turn.rounds)
        await asyncio.sleep(AGAIN_SECONDS)
        event.retry = True
