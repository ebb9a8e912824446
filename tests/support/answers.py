"""What a call to a tool comes to, whichever client made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
CALL_META = "com.mangaassist/call"
STATED = "com.mangaassist/"


class RpcError(Exception):
    """A JSON-RPC error, as far as the client tells it: Strands keeps the message only."""

    def __init__(self, code: int | None, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool result."""

    is_error: bool
    structured: Json
    texts: tuple[str, ...]
    meta: Json

    @property
    def error(self) -> Json:
        """The envelope of a failure; fails the test when the call succeeded."""
        assert self.is_error, f"the call succeeded: {self.structured}"
        return dict(self.structured["error"])

    @property
    def value(self) -> Json:
        """The result of a success; fails the test when the call failed."""
        assert not self.is_error, f"the call failed: {self.structured}"
        return self.structured

    @property
    def call(self) -> Json:
        return dict(self.meta[CALL_META])


def meta_of(stated: Mapping[str, Any]) -> Json | None:
    further = dict(stated.get("meta") or {})
    own = {STATED + name: value for name, value in stated.items() if name != "meta"}
    return {**own, **further} or None
