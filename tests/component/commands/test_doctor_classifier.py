"""The doctor's report on the model that labels texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.commands.doctor import examine
from server.config.settings import Settings
from tests.support.bedrock import CLAUDE, LABELS, Bedrock, bedrock, labelled, says

__all__ = ["bedrock"]


async def examined(capsys: pytest.CaptureFixture[str], **settings: Any) -> dict[str, Any]:
    """The findings by name."""
    await examine(Settings(embedder="none", **settings), as_json=True)
    return {each["name"]: each for each in json.loads(capsys.readouterr().out)["dependencies"]}


@pytest.mark.parametrize(
    ("answer", "state", "told"),
    [
        (labelled(LABELS), "ok", "labels texts"),
        (labelled({}), "down", "MANGA_CLASSIFIER"),
        (says({"message": "no"}, 400, "ValidationException"), "down", "MANGA_CLASSIFIER"),
        (says({"message": "no"}, 403, "AccessDeniedException"), "down", "bedrock:InvokeModel"),
    ],
    ids=["well", "no tools", "no such model", "no access"],
)
async def test_classifier_model_is_tested_with_a_text_to_label(
    bedrock: Bedrock, capsys: pytest.CaptureFixture[str], answer: Any, state: str, told: str
) -> None:
    bedrock.answer = answer
    found = (await examined(capsys, classifier=f"bedrock:{CLAUDE}"))["classifier"]
    assert found["state"] == state
    assert told in f"{found['detail']} {found['remedy']}"


async def test_classifier_without_a_region_is_reported(
    bedrock: Bedrock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    found = await examined(capsys, classifier=f"bedrock:{CLAUDE}")
    assert "AWS_DEFAULT_REGION" in found["classifier"]["remedy"]


async def test_no_classifier_is_examined_without_its_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert "classifier" not in await examined(capsys)
