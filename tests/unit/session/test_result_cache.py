"""Stored results: what is encoded is decoded again, with its key alone, and foreign bytes are a miss."""

from __future__ import annotations

import hmac

from hypothesis import given
from hypothesis import strategies as st

from session.begin import CachedResult, CacheKey, decode, digest, encode, result_set_name
from tests.support.cases import cases

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(value=st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers() | st.text(st.characters(codec="utf-8"))))
def test_encoded_result_is_decoded_with_its_timestamp(value: dict[str, object]) -> None:
    stored = encode(value, 1234.5678)
    assert stored is not None
    assert decode(stored) == CachedResult(value, 1234.568)


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_as_a_result_or_none(stored: bytes) -> None:
    result = decode(stored)
    assert result is None or isinstance(result.value, dict)


@cases(
    "stored",
    [
        None,
        b"",
        b"{}",
        b"x {}",
        b"1",
        b"1 []",
        b"1 1",
        b"1 {",
        b"\xff {}",
        b"9" * 5000 + b" {}",
        b"9" * 320 + b" {}",
        b"1 " + b"[" * 100_000,
    ],
)
def test_malformed_stored_result_is_decoded_as_none(stored: bytes | None) -> None:
    assert decode(stored) is None


def test_result_of_more_than_256_kib_is_not_encoded() -> None:
    largest = encode({"a": "x" * (2**18 - len('1000 {"a":""}'))}, 1.0)
    assert largest is not None
    assert len(largest) == 2**18
    assert encode({"a": "x" * (2**18 + 1 - len('1000 {"a":""}'))}, 1.0) is None
    assert encode({"a": "あ" * (2**18 // 3)}, 1.0) is None, "bytes count, not characters"


ASKED = {"query": "for Mizuki, who is eight"}
KEY = CacheKey.derive("search", "form", ASKED, "owner")
SAID = {"understood": [{"from": "for mizuki, who is eight"}]}


@cases("parts", [({}, "owner"), (ASKED, "another"), (ASKED, "owner", "preferences")])
@cases(("tool", "form"), [("search", "form"), ("search", "forms"), ("searches", "form")])
def test_encrypted_result_is_a_miss_with_any_other_key(tool: str, form: str, parts: tuple[object, ...]) -> None:
    stored, other = encode(SAID, 1.0, KEY), CacheKey.derive(tool, form, *parts)
    assert decode(stored, CacheKey.derive("search", "form", dict(ASKED), "owner")) == CachedResult(SAID, 1.0)
    for key in (other, CacheKey(KEY.name, other.secret), CacheKey(other.name, KEY.secret)):
        assert decode(stored, key) is None


def test_damaged_or_plain_result_is_a_miss() -> None:
    stored = encode(SAID, 1.0, KEY)
    assert stored is not None
    assert stored != encode(SAID, 1.0, KEY), "each has a nonce of its own"
    for at in range(len(b"1000 "), len(stored)):
        assert decode(stored[:at], KEY) is None
        assert decode(stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :], KEY) is None
    assert decode(encode(SAID, 1.0), KEY) is decode(stored) is None


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters()))
def test_encrypted_result_gives_back_any_text(text: str, asked: str) -> None:
    key = CacheKey.derive("search", "form", {"query": asked})
    assert decode(encode({"understood": text}, 1.0, key), key) == CachedResult({"understood": text}, 1.0)


def test_secret_of_a_record_is_that_of_another_replica_whatever_its_version() -> None:
    asked = b'["idempotency-record/1/aes-256-gcm","owner",{"query":"gore"}]'
    assert CacheKey.of_record("name", "owner", {"query": "gore"}).secret == hmac.digest(b"name", asked, "sha256")


def test_age_of_a_cached_result_is_never_negative() -> None:
    assert CachedResult({}, 10.0).age_seconds(5.0) == 0
    assert CachedResult({}, 10.0).age_seconds(15.0) == 5


@given(JSON, JSON)
def test_digests_are_equal_exactly_for_equal_values(one: object, other: object) -> None:
    import json

    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest(one) == digest(other)) is same
    assert len(digest(one)) == 26


def test_digest_ignores_the_order_of_keys_and_respects_that_of_arguments() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest("a", "b") != digest("b", "a")
    assert digest("a", "b") != digest("ab")
    assert digest(["a"], "b") != digest("a", ["b"])


def test_result_set_name_is_a_digest_of_its_ids_in_order() -> None:
    name = result_set_name(["manga-1", "manga-2"])
    assert name == result_set_name(("manga-1", "manga-2"))
    assert name != result_set_name(["manga-2", "manga-1"])
    assert name != result_set_name(["manga-1"])
    assert name.startswith("rs_")
    assert len(name) == 19
    assert set(name[3:]) <= set("abcdefghijklmnopqrstuvwxyz234567")
