"""Every order access leaves a line in the audit, and no order number in the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.raw import call, post_2026
from tests.support.serving import Serving

USER = "com.mangaassist/userId"
OWN, FOREIGN, MISSING = "MNG-DEMO1001", "MNG-DEMO2001", "MNG-DEMO9999"


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit") / "audit.jsonl"


@pytest.fixture(scope="module")
def audited(serve: Callable[..., Serving], audit: Path) -> Serving:
    return serve(MANGA_AUDIT_LOG=str(audit), MANGA_LOG_LEVEL="debug", MANGA_LOG_TOOL_CALLS="all")


async def test_each_order_access_is_audited_with_user_order_and_outcome(audited: Serving, audit: Path) -> None:
    """Own, foreign, missing, anonymous, malformed and list calls leave a line, a search none; the log no order."""
    port = int(audited.url.rpartition(":")[2])
    asked = [
        (OWN, "demo-user-1"),
        (FOREIGN, "demo-user-1"),
        (MISSING, "demo-user-1"),
        (OWN, None),
        ("no number", "demo-user-1"),
        (None, "demo-user-1"),
    ]
    calls = []
    for order, user in asked:
        meta = {USER: user} if user else {}
        found = await post_2026(port, call("lookup_order", {"order_id": order} if order else {}), **meta)
        calls.append(found["result"]["_meta"]["com.mangaassist/call"]["callId"])
    await post_2026(port, call("search_manga_catalog", {"query": "naruto"}), **{USER: "demo-user-1"})
    assert audited.stop() == 0  # which ends the thread that writes
    lines = [json.loads(line) for line in audit.read_text("utf-8").splitlines()]
    assert [line["call"] for line in lines] == calls
    assert [line["outcome"] for line in lines] == ["ok", "NOT_FOUND", "NOT_FOUND", "FORBIDDEN", "VALIDATION_ERROR", "ok"]
    assert [line["what"].get("order_id") for line in lines] == [OWN, FOREIGN, MISSING, OWN, None, None]
    customer, nobody = lines[0]["user"], lines[3]["user"]
    assert [line["user"] for line in lines] == [customer, customer, customer, nobody, customer, customer]
    assert customer != nobody
    assert "demo-user-1" not in audit.read_text("utf-8")
    assert "MNG-" not in audited.log
