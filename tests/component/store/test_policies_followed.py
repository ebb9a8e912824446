"""A changed policies file is followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.config.settings import Settings
from server.wiring import open_app
from tests.support.process import until


async def test_changed_policies_file_is_followed_and_a_broken_one_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.config.sources.POLL_SECONDS", 0.01)
    file = tmp_path / "policies.md"
    file.write_text("# shipping en\nFive days.\n")
    async with open_app(Settings(policies_file=file, embedder="none", data_dir=tmp_path), local=True) as app:
        policies = app.pipeline.store.policies
        assert policies.text("shipping", "en") == "Five days."
        file.write_text("# shipping en\nThree days.\n# faq ja\n質問\n")
        await until(lambda: policies.text("shipping", "en") == "Three days.", 30, "the new text is told")
        assert policies.topics == ("shipping", "faq")
        file.write_text("no heading\n")
        await until(lambda: "the last good version stays in use" in caplog.text, 30, "the log tells of the broken file")
        assert policies.text("shipping", "en") == "Three days."
