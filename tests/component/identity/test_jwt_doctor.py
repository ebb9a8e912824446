"""The doctor's report on the token issuer."""

from __future__ import annotations

import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from server.identity.jwt.verifier import diagnose
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, DOWN, OK, Diagnosis
from tests.support import issuer as kinds
from tests.support.cases import cases
from tests.support.issuer import Issuer, SigningKey, compact_json, issuing


async def said(url: str) -> Diagnosis:
    return await diagnose(url, Deadline.after(4))


async def test_healthy_issuer_is_reported_with_its_keys() -> None:
    with issuing() as issuer:
        found = await said(issuer.jwks_url)
    assert (found.state, found.detail) == (OK, "2 keys for ES256 and RS256")


async def test_unreachable_issuer_is_reported_with_a_remedy() -> None:
    with issuing() as issuer:
        pass
    found = await said(issuer.jwks_url)
    assert (found.state, found.detail) == (DOWN, "connection refused: nothing listens there")
    assert "MANGA_JWT_JWKS_URL" in (found.remedy or "")


@cases("behaviour", [kinds.GARBAGE, kinds.FAILING, kinds.REDIRECTING, kinds.HUGE])
async def test_answer_that_is_no_key_set_is_reported(behaviour: str) -> None:
    with issuing(issuer=Issuer(behaves=behaviour)) as issuer:
        found = await said(issuer.jwks_url)
    assert found.state == DOWN
    assert found.detail.startswith("it ")
    assert "MANGA_JWT_JWKS_URL" in (found.remedy or "")


async def test_key_set_without_usable_keys_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(compact_json(Issuer(keys=[SigningKey.rsa("k", bits=1024)]).jwks))
    found = await said(file.as_uri())
    assert (found.state, found.detail) == (DOWN, "none of its 1 keys is one for RS256 or ES256")


@pytest.mark.parametrize(("seconds", "side"), [(95, "ahead of"), (-95, "behind")])
async def test_clock_skew_against_the_issuer_is_reported(seconds: int, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read from the answer's Date; with it every token would be refused as expired or not yet valid."""
    own = lambda self, timestamp=None: formatdate(time.time() + seconds, usegmt=True)  # noqa: E731
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", own)
    with issuing() as issuer:
        found = await said(issuer.jwks_url)
    assert found.state == DEGRADED
    assert side in found.detail
    assert "NTP" in (found.remedy or "")
