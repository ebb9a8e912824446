"""The client that asked, as far as a tool may speak to it while it runs.

A tool that only answers needs none of this. Everything here is advisory or bounded: what is told may be lost, and who asks
waits no longer than the call's deadline. A store's tool should ask seldom: every wait is the shopper's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tools.store.failures import ClientCannot

Json = dict[str, Any]
CAPABILITIES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


@dataclass(frozen=True, slots=True)
class Question:
    """What only the client can answer. `method` is one of MCP's requests to a client, `params` what that takes."""

    method: str
    params: Json

    @property
    def capability(self) -> str:
        """Names what a client must have declared to be asked this."""
        return CAPABILITIES[self.method]


class Client(Protocol):
    """`progress` and `log` never fail, and wait for a client that does not read for a moment at most."""

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tells how far the call is, where the client wanted to know: `done` of `total`, never less than before."""

    async def log(self, level: str, message: str) -> None:
        """Tells what happened, where the client wants messages of this level (RFC 5424, as MCP names them)."""

    def can(self, capability: str) -> bool:
        """Tells whether the client has declared `elicitation`, `sampling` or `roots`."""

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        """Returns the client's result for each. Only for a tool that `asks`.

        A client of the 2026 era is asked between two calls: this raises `InputRequired`, which the tool lets pass, and the
        tool runs again with what it has been told so far, from its beginning. Raises `ClientCannot`."""


class SilentClient:
    """Nobody that could be spoken to: a call that no client waits for."""

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        pass

    async def log(self, level: str, message: str) -> None:
        pass

    def can(self, capability: str) -> bool:
        return False

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        raise ClientCannot(sorted({question.capability for question in questions.values()}))


SILENT: Client = SilentClient()
