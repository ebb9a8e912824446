"""The stages of a call run in their order, from the outside in."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from server.config.settings import Settings
from server.pipeline import build_pipeline
from server.stages.answer import ToolRunner
from tools.store.currency import YEN

pytestmark = pytest.mark.virtual_time


def test_stages_run_in_the_documented_order() -> None:
    """This is a snapshot: a change here changes what every call passes through."""
    store = SimpleNamespace(currency=YEN, profiles=None)
    pipeline = build_pipeline(Settings(), MagicMock(), store, None, None, None, None)  # type: ignore[arg-type]
    handlers, handler = [], pipeline.run
    while isinstance(handler, partial):
        handlers.append(type(handler.keywords["stage"]).__name__)
        handler = handler.keywords["inner"]
    assert handlers == [
        "TelemetryStage", "GuardStage", "ShedStage", "IdentityStage", "ValidateStage", "SessionStage", "ShortenStage", "IdempotencyStage", "RememberStage", "CompleteStage",
        "FallbackStage", "CacheStage", "AdmitStage", "DeadlineStage",
    ]  # fmt: skip
    assert isinstance(handler, ToolRunner)
    assert pipeline.stages == (
        "guard", "shed", "identity", "validate", "session", "shorten", "idempotency", "remember", "complete", "fallback", "cache",
        "admit", "deadline",
    )  # fmt: skip
