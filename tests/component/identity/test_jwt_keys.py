"""The issuer's keys: fetched within bounds, rotated without a restart, and good for a day when the issuer is away."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.identity import CannotTell
from server.identity.jwt import keys as issuer_keys
from server.identity.jwt import keys as jwks_source
from server.identity.jwt.keys import (
    ASKED_SECONDS,
    KEPT_SECONDS,
    MOST_BYTES,
    IssuerKeys,
    JwksError,
    KeySet,
    TokenHeader,
    parse_jwks,
    token_header,
)
from server.identity.jwt.verifier import AccessTokens
from tests.support import issuer as kinds
from tests.support.cases import cases
from tests.support.issuer import AUDIENCE, Issuer, SigningKey, compact_json, issuing
from tests.support.process import until
from tests.support.verifying import Turned

FLOOD = 500


@asynccontextmanager
async def kept(issuer: Issuer, clock: Turned) -> AsyncIterator[IssuerKeys]:
    """As the server keeps them."""
    async with jwks_source.jwks_source(issuer.jwks_url) as read:
        keys = IssuerKeys(read, clock)
        fresh = asyncio.create_task(keys.keep_fresh())
        try:
            yield keys
        finally:
            issuer.released.set()
            fresh.cancel()
            await asyncio.gather(fresh, return_exceptions=True)


@pytest.fixture
def clock() -> Turned:
    return Turned(1000.0)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the issuer takes its time; how long a request waits for it is not what is shown here."""
    monkeypatch.setattr(issuer_keys, "WAIT_SECONDS", 10.0)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed looks are repeated at once."""
    monkeypatch.setattr(issuer_keys, "RETRY_SECONDS", (0.01, 0.01))


def unknown(number: int = 0) -> TokenHeader:
    return TokenHeader(f"unknown-{number}", "RS256")


async def test_the_keys_are_there_for_whoever_comes_first(clock: Turned) -> None:
    """A request that arrives before the first look has ended waits for it."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            assert keys.current is None
            for key in issuer.keys:
                found = await keys.key_of(token_header(issuer.token(key=key)))
                assert found is not None
                assert AccessTokens(issuer.name, (AUDIENCE,)).claims(issuer.token(key=key), found)
            assert issuer.asked == 1


async def test_a_new_key_is_found_without_a_restart(clock: Turned) -> None:
    """The first token that is signed with it has the issuer asked."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            await keys.key_of(unknown())
            clock.now += ASKED_SECONDS
            issuer.keys = [SigningKey.rsa("rsa-2")]
            assert await keys.key_of(token_header(issuer.token()))
            assert issuer.asked == 3


async def test_a_flood_of_unknown_keys_is_no_flood_at_the_issuer(clock: Turned) -> None:
    """One look for all of them; and then none for half a minute, while each is answered at once."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            assert await asyncio.gather(*(keys.key_of(unknown(n)) for n in range(FLOOD))) == [None] * FLOOD
            assert issuer.asked == 2
            clock.now += ASKED_SECONDS - 1
            issuer.behaves = kinds.HANGING
            async with asyncio.timeout(5):
                for number in range(FLOOD):
                    assert await keys.key_of(unknown(number)) is None
            assert issuer.asked == 2


async def test_an_unknown_key_does_not_wait_for_an_issuer_that_hangs(clock: Turned, monkeypatch: pytest.MonkeyPatch) -> None:
    """And known ones do not wait at all."""
    monkeypatch.setattr(issuer_keys, "WAIT_SECONDS", 0.05)
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            assert await keys.key_of(token_header(issuer.token()))
            issuer.behaves = kinds.HANGING
            async with asyncio.timeout(5):
                assert await keys.key_of(unknown()) is None
                assert await keys.key_of(token_header(issuer.token()))


async def test_the_last_keys_go_on_for_a_day_without_the_issuer(clock: Turned, caplog: pytest.LogCaptureFixture) -> None:
    """Then nobody is proven any more, until it is back."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            token = token_header(issuer.token())
            assert await keys.key_of(token)
            issuer.behaves = kinds.FAILING
            clock.now += ASKED_SECONDS
            await keys.key_of(unknown())
            await until(lambda: "the last ones go on" in caplog.text, 30, "it is told")
            clock.now += KEPT_SECONDS - ASKED_SECONDS
            assert await keys.key_of(token)
            clock.now += 1
            with pytest.raises(CannotTell):
                await keys.key_of(token)


async def test_whoever_comes_while_there_are_no_keys_yet_is_told_at_once(clock: Turned, quick: None) -> None:
    """The first waits for the first look; once that has failed nobody does. When the issuer is back, so are its keys."""
    with issuing() as issuer:
        issuer.behaves = kinds.FAILING
        async with kept(issuer, clock) as keys:
            with pytest.raises(CannotTell):
                await keys.key_of(unknown())
            issuer.behaves = kinds.WELL
            await until(lambda: keys.current is not None, 30, "the keys are there")
            assert await keys.key_of(token_header(issuer.token()))


async def test_an_issuer_that_cannot_be_connected_to_is_asked_again(clock: Turned, quick: None) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    away = Issuer(name=f"http://127.0.0.1:{port}")
    async with kept(away, clock) as keys:
        with pytest.raises(CannotTell):
            await keys.key_of(unknown())
        with issuing(port, away):
            await until(lambda: keys.current is not None, 30, "the keys are there")


@pytest.mark.parametrize(
    "behaviour",
    [kinds.GARBAGE, kinds.NO_SET, kinds.HUGE, kinds.FAILING, kinds.REDIRECTING, kinds.CUT_OFF, kinds.HANGING],
)
async def test_an_issuer_that_answers_badly_changes_nothing(
    behaviour: str, clock: Turned, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer is waited for without end, read without end, or followed elsewhere; it is told once, without its content."""
    monkeypatch.setattr(jwks_source, "ALL_SECONDS", 0.3)
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            token = token_header(issuer.token())
            assert await keys.key_of(token)
            before = keys.current
            issuer.behaves = behaviour
            assert await keys.key_of(unknown()) is None
            await until(lambda: "MANGA_JWT_JWKS_URL" in caplog.text, 30, "it is told")
            assert keys.current is before
            assert await keys.key_of(token)
    assert issuer.asked == 2
    assert "Bad gateway" not in caplog.text
    assert "xxx" not in caplog.text


async def test_nothing_that_goes_wrong_is_the_end_of_looking(clock: Turned, quick: None) -> None:
    """Not even what nobody foresaw: without the task that looks, no key would ever change again."""
    looks = iter([RuntimeError("unforeseen"), RuntimeError("again")])

    async def read() -> KeySet:
        for error in looks:
            raise error
        return parse_jwks(compact_json(Issuer().jwks))

    keys = IssuerKeys(read, clock)
    fresh = asyncio.create_task(keys.keep_fresh())
    try:
        await until(lambda: keys.current is not None, 30, "the keys are there")
    finally:
        fresh.cancel()


async def test_an_issuer_that_takes_all_its_keys_away_is_believed(clock: Turned) -> None:
    """An empty set is an answer, and how everything is revoked."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            token = token_header(issuer.token())
            assert await keys.key_of(token)
            issuer.keys = []
            await keys.key_of(unknown())
            assert await keys.key_of(token) is None


async def test_equal_keys_stay_the_same_object(clock: Turned) -> None:
    """So that what was verified with them is not verified again after each look."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            await keys.key_of(token_header(issuer.token()))
            before = keys.current
            await keys.key_of(unknown())
            assert issuer.asked == 2
            assert keys.current is before


async def test_keys_may_come_from_a_file(tmp_path: Path) -> None:
    """For an issuer that is not reachable from where this runs."""
    file = tmp_path / "my keys.json"
    file.write_bytes(compact_json(Issuer().jwks))
    async with jwks_source.jwks_source(file.as_uri()) as read:
        assert len((await read()).keys) == 2
        file.unlink()
        with pytest.raises(JwksError, match="cannot be read"):
            await read()


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    clock: Turned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setitem(os.environ, "http_proxy", "http://127.0.0.1:9")
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            assert await keys.key_of(token_header(issuer.token()))


@cases("text", [b"", b"null", b"[]", b'{"keys": {}}', b"[" * 100_000, b"\xff", b'{"keys"'])
def test_what_is_no_key_set_is_refused(text: bytes) -> None:
    with pytest.raises(JwksError):
        parse_jwks(text)


def test_of_two_keys_with_one_name_the_first_counts() -> None:
    first, second = SigningKey.rsa("same"), SigningKey.rsa("same")
    found = parse_jwks(compact_json({"keys": [first.jwk(), second.jwk(), SigningKey.ec("same").jwk()]}))
    assert isinstance(found, KeySet)
    assert sorted(found.keys) == [("same", "ES256"), ("same", "RS256")]
    issuer = Issuer(keys=[first])
    key = found.key_of(token_header(issuer.token()))
    assert key is not None
    assert AccessTokens(issuer.name, (AUDIENCE,)).claims(issuer.token(), key)


def test_a_body_that_is_counted_is_larger_than_any_issuers() -> None:
    """The most keys that are read, with certificates as some issuers add them, fit in."""
    assert len(compact_json({"keys": [SigningKey.rsa("k").jwk(x5c=["x" * 2000])] * 90})) < MOST_BYTES
