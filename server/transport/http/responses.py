"""Plain answers of the edge: a status and one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import PlainTextResponse

RETRY_AFTER_SECONDS = 1


def plain(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> PlainTextResponse:
    return PlainTextResponse(f"{sentence}\n", status, headers)


def busy(sentence: str) -> PlainTextResponse:
    return plain(503, sentence, {"Retry-After": str(RETRY_AFTER_SECONDS)})
