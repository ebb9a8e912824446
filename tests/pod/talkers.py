"""Customers who talk to a pod without a pause, and a switch that sends their next question to another one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from tests.pod.pod import Pod

QUESTIONS = ("dark fantasy with swords and demons", "can you recommend something funny?")
END_SECONDS = 30
READING_SECONDS = 0.2
"""What a customer does with an answer: many times quicker than people, and not so quick that they are all the machine does."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and what came of it, by what the customer heard. `error` when no answer came."""

    pod: str
    outcome: str
    seconds: float
    error: str = ""


@dataclass(slots=True)
class Talkers:
    """As a load balancer, `to` decides for new questions only; those that are open are answered where they are."""

    to: Pod
    most_turns: int | None = None
    turns: list[Turn] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def talk(self, name: str) -> None:
        asked = 0
        while not self._stop.is_set() and asked != self.most_turns:
            self.turns.append(_turn(self.to, name, QUESTIONS[asked % len(QUESTIONS)]))
            asked += 1
            self._stop.wait(READING_SECONDS)

    def outcomes(self) -> set[str]:
        return {each.outcome for each in list(self.turns)}

    @contextmanager
    def talking(self, people: int) -> Iterator[Talkers]:
        """On leaving, everybody has had an answer to the last question."""
        self._threads += [threading.Thread(target=self.talk, args=(f"talker-{each}",)) for each in range(people)]
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self.end()

    def end(self) -> None:
        if self.most_turns is None:
            self._stop.set()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def figures(self) -> str:
        """How many turns of each outcome, and how long the longest took."""
        counted = {each: sum(turn.outcome == each for turn in self.turns) for each in sorted(self.outcomes())}
        longest = max(turn.seconds for turn in self.turns)
        return f"{len(self.turns)} turns, {counted}, the longest {longest:.2f} s"


def _turn(pod: Pod, name: str, question: str) -> Turn:
    began = time.monotonic()
    answer: dict[str, Any] = {}
    error = ""
    try:
        answer = pod.chat(name, question, user=name)
    except (OSError, HTTPException, AssertionError, ValueError) as problem:
        error = repr(problem)
    return Turn(pod.name, str(answer.get("outcome", "none")), time.monotonic() - began, error)
