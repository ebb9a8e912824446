"""What became of the inputs, by kind, and whatever should not have come back."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.support.fuzzing import LEAKS
from tests.support.raw import Answer

MOST_KEPT = 20
UNFORESEEN = ("INTERNAL_ERROR", "error -32603")


@dataclass
class Tally:
    """`wrong` holds examples of what must not be: a 5xx but 503, an unforeseen error, the inside of the server."""

    inputs: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    wrongs: int = 0

    @property
    def sent(self) -> int:
        return sum(self.inputs.values())

    def sends(self, kind: str) -> None:
        self.inputs[kind] += 1

    def answered(self, kind: str, answer: Answer, sent: bytes) -> None:
        """A response with its body."""
        outcome = str(answer.status)
        if answer.status >= 500 and answer.status != 503:
            self.objects(f"{kind}: status {answer.status} to {sent[:600]!r}")
        if answer.body and (message := _message(answer)) is not None:
            outcome += f" {told_of(message)}"
            self._look(kind, message, sent)
        self.outcomes[kind, outcome] += 1

    def heard(self, kind: str, message: Any) -> None:
        """A message on a stream."""
        self._look(kind, message, b"something on a stream")
        self.outcomes[kind, f"heard {told_of(message)}"] += 1

    def ended(self, kind: str, outcome: str) -> None:
        """No answer, and none was due."""
        self.outcomes[kind, outcome] += 1

    def objects(self, words: str) -> None:
        self.wrongs += 1
        if len(self.wrong) < MOST_KEPT:
            self.wrong.append(words)

    def _look(self, kind: str, message: Any, sent: bytes) -> None:
        told = told_of(message)
        if told.endswith(UNFORESEEN):
            self.objects(f"{kind}: {told} to {sent[:600]!r}")
        said = message.get("error") or message.get("result", {}).get("structuredContent", {}).get("error")
        if said and (leak := LEAKS.search(json.dumps(said, ensure_ascii=False))):
            self.objects(f"{kind}: {leak.group()!r} in {said!r:.300} to {sent[:300]!r}")


def _message(answer: Answer) -> Any:
    """The JSON-RPC message of a response that has one."""
    try:
        message = answer.json()
    except (ValueError, IndexError):
        return None
    return message if isinstance(message, dict) and "jsonrpc" in message else None


def told_of(message: Any) -> str:
    """In a word or two."""
    if "error" in message:
        return f"error {message['error'].get('code')}"
    if "result" not in message:
        return str(message.get("method", "neither"))
    result = message["result"]
    return str(result["structuredContent"]["error"]["name"]) if result.get("isError") else "result"
