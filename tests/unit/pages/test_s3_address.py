"""Addresses of S3 buckets."""

from __future__ import annotations

import pytest

from tests.support.cases import cases
from tools.store.backends.aws_address import S3Address


@cases(
    ("url", "expected"),
    [
        ("s3://b-1.x?region=eu-west-1", S3Address("b-1.x", "", "eu-west-1")),
        ("s3://pages/a/b/?region=ap-northeast-1", S3Address("pages", "a/b/", "ap-northeast-1")),
        (
            "s3://pages/%E6%BC%AB?region=us-gov-west-1&endpoint=http://127.0.0.1:9/",
            S3Address("pages", "漫/", "us-gov-west-1", "http://127.0.0.1:9"),
        ),
    ],
)
def test_s3_address_is_parsed_into_bucket_prefix_region_and_endpoint(url: str, expected: S3Address) -> None:
    assert S3Address.parse(url) == expected


@cases(
    ("url", "said"),
    [
        ("http://pages", "is not s3"),
        ("s3://?region=eu-west-1", "has to be a bucket"),
        ("s3://Pages?region=eu-west-1", "has to be a bucket"),
        ("s3://key:secret@pages?region=eu-west-1", "has to be a bucket"),
        ("s3://pages", "region"),
        ("s3://pages?region=Tokyo", "region"),
        ("s3://pages?region=eu-west-1&reigon=x", "unknown parameter 'reigon'"),
        ("s3://pages?region=eu-west-1&region=eu-west-2", "more than once"),
        ("s3://pages/a%0Ab?region=eu-west-1", "prefix"),
        (f"s3://pages/{'a' * 501}?region=eu-west-1", "prefix"),
        ("s3://pages?region=eu-west-1&endpoint=ftp://x", "endpoint"),
        ("s3://pages?region=eu-west-1&endpoint=http://u:hunter2@x", "endpoint"),
        ("s3://pages?region=eu-west-1&endpoint=http://x:99999", "endpoint"),
    ],
)
def test_wrong_s3_address_is_refused_by_its_part_and_without_secrets(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        S3Address.parse(url)
    assert "hunter2" not in str(raised.value)
    assert "secret" not in str(raised.value)


def test_s3_address_is_shown_with_bucket_prefix_and_region() -> None:
    assert str(S3Address.parse("s3://pages/a?region=eu-west-1")) == "s3://pages/a/ (eu-west-1)"
