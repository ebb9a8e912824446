"""What `doctor` says of the issuer of tokens."""

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


async def test_an_issuer_that_is_well_is_told_by_its_keys() -> None:
    with issuing() as issuer:
        found = await said(issuer.jwks_url)
    assert (found.state, found.detail) == (OK, "2 keys for ES256 and RS256")


async def test_an_issuer_that_is_not_there_is_told_with_what_to_do() -> None:
    with issuing() as issuer:
        pass
    found = await said(issuer.jwks_url)
    assert (found.state, found.detail) == (DOWN, "connection refused: nothing listens there")
    assert "MANGA_JWT_JWKS_URL" in (found.remedy or "")


@cases("behaviour", [kinds.GARBAGE, kinds.FAILING, kinds.REDIRECTING, kinds.HUGE])
async def test_an_answer_that_is_no_key_set_is_told(behaviour: str) -> None:
    with issuing(issuer=Issuer(behaves=behaviour)) as issuer:
        found = await said(issuer.jwks_url)
    assert found.state == DOWN
    assert found.detail.startswith("it ")
    assert "MANGA_JWT_JWKS_URL" in (found.remedy or "")


async def test_keys_that_are_none_for_tokens_are_told(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(compact_json(Issuer(keys=[SigningKey.rsa("k", bits=1024)]).jwks))
    found = await said(file.as_uri())
    assert (found.state, found.detail) == (DOWN, "none of its 1 keys is one for RS256 or ES256")


@pytest.mark.parametrize(("seconds", "side"), [(95, "ahead of"), (-95, "behind")])
async def test_clocks_that_are_too_far_apart_are_told(seconds: int, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the Date of the answer: every token would be refused as expired, or as not valid yet."""
    own = lambda self, timestamp=None: formatdate(time.time() + seconds, usegmt=True)  # noqa: E731
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", own)
    with issuing() as issuer:
        found = await said(issuer.jwks_url)
    assert found.state == DEGRADED
    assert side in found.detail
    assert "NTP" in (found.remedy or "")
