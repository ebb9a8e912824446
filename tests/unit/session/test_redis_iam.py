"""The password that ElastiCache takes from a role: a signed request, renewed before it runs out."""

from __future__ import annotations

from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest

from session.redis import iam
from session.redis.iam import ElastiCacheIam
from tests.support.aws_calls import asked_of_aws
from tests.support.cases import cases

__all__ = ["asked_of_aws"]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@cases("serverless", [True, False])
def test_iam_token_is_a_signed_connect_request_without_scheme_and_secret(serverless: bool) -> None:
    user, token = ElastiCacheIam("app", "my-cache", "ap-northeast-1", serverless=serverless).get_credentials()
    parts = urlsplit(f"http://{token}")
    query = parse_qs(parts.query)
    assert (user, parts.netloc) == ("app", "my-cache")
    assert (query["Action"], query["User"], query["X-Amz-Expires"]) == (["connect"], ["app"], ["900"])
    assert ("ResourceType" in query) is serverless
    assert "ap-northeast-1/elasticache" in query["X-Amz-Credential"][0]
    assert query["X-Amz-Signature"]
    assert "hunter2" not in token


def test_iam_token_is_reused_until_it_nears_its_expiry(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(iam, "time", SimpleNamespace(monotonic=lambda: now))
    source = ElastiCacheIam("app", "my-cache", "ap-northeast-1", serverless=True)
    signed = 0
    sign = source._sign_request

    def counted(signer: object) -> str:
        nonlocal signed
        signed += 1
        return sign(signer)

    monkeypatch.setattr(source, "_sign_request", counted)
    for seconds, times in ((0, 1), (780, 1), (781, 2), (1000, 2)):
        now = 1000.0 + seconds
        source.get_credentials()
        assert signed == times


def test_missing_aws_credentials_raise_an_error_and_no_repr_shows_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ElastiCacheIam("app", "my-cache", "ap-northeast-1", serverless=True)
    _, token = source.get_credentials()
    assert token not in repr(source)
    fresh = ElastiCacheIam("app", "my-cache", "ap-northeast-1", serverless=True)
    monkeypatch.setattr(fresh._session, "get_credentials", lambda: None)
    with pytest.raises(PermissionError, match="no AWS credentials"):
        fresh.get_credentials()
