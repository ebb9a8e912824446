"""The issuer's keys are fetched within bounds, rotated without a restart, and valid for a day without the issuer."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.config.sources import Unreadable
from server.identity.jwt import keys as issuer_keys
from server.identity.jwt import keys as jwks_source
from server.identity.jwt.keys import (
    ASKED_SECONDS,
    KEPT_SECONDS,
    MOST_BYTES,
    IssuerKeys,
    KeySet,
    TokenHeader,
    parse_jwks,
    token_header,
)
from server.identity.jwt.verifier import AccessTokens
from server.identity.request_metadata import KeysUnavailable
from session.resilience.tasks import wait_for
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


async def test_first_request_waits_for_the_first_read_of_the_keys(clock: Turned) -> None:
    """It arrives before the first read has ended."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            assert keys.current is None
            for key in issuer.keys:
                found = await keys.key_of(token_header(issuer.token(key=key)))
                assert found is not None
                assert AccessTokens(issuer.name, (AUDIENCE,)).claims(issuer.token(key=key), found)
            assert issuer.asked == 1


async def test_new_key_is_found_without_a_restart(clock: Turned) -> None:
    """The first token signed with it triggers a read of the keys."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            await keys.key_of(unknown())
            clock.now += ASKED_SECONDS
            issuer.keys = [SigningKey.rsa("rsa-2")]
            assert await keys.key_of(token_header(issuer.token()))
            assert issuer.asked == 3


async def test_flood_of_unknown_keys_triggers_one_read_per_half_minute(clock: Turned) -> None:
    """One read serves all of them; for the next half minute each is answered at once."""
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


async def test_unknown_key_does_not_wait_for_a_hanging_issuer(clock: Turned, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens with known keys do not wait at all."""
    monkeypatch.setattr(issuer_keys, "WAIT_SECONDS", 0.05)
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            assert await keys.key_of(token_header(issuer.token()))
            issuer.behaves = kinds.HANGING
            async with asyncio.timeout(5):
                assert await keys.key_of(unknown()) is None
                assert await keys.key_of(token_header(issuer.token()))


async def test_the_last_keys_go_on_for_a_day_without_the_issuer(clock: Turned, caplog: pytest.LogCaptureFixture) -> None:
    """After a day every token is refused until the issuer is back."""
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
            with pytest.raises(KeysUnavailable):
                await keys.key_of(token)


async def test_request_without_keys_fails_at_once_until_the_issuer_is_back(clock: Turned, quick: None) -> None:
    """The first request waits for the first read; after its failure none waits. Keys return with the issuer."""
    with issuing() as issuer:
        issuer.behaves = kinds.FAILING
        async with kept(issuer, clock) as keys:
            with pytest.raises(KeysUnavailable):
                await keys.key_of(unknown())
            issuer.behaves = kinds.WELL
            await until(lambda: keys.current is not None, 30, "the keys are there")
            assert await keys.key_of(token_header(issuer.token()))


async def test_unreachable_issuer_is_retried_until_it_is_reached(clock: Turned, quick: None) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    away = Issuer(name=f"http://127.0.0.1:{port}")
    async with kept(away, clock) as keys:
        with pytest.raises(KeysUnavailable):
            await keys.key_of(unknown())
        with issuing(port, away):
            await until(lambda: keys.current is not None, 30, "the keys are there")


@pytest.mark.parametrize(
    "behaviour",
    [kinds.GARBAGE, kinds.NO_SET, kinds.HUGE, kinds.FAILING, kinds.REDIRECTING, kinds.CUT_OFF, kinds.HANGING],
)
async def test_malformed_answer_of_the_issuer_keeps_the_last_keys_and_is_logged(
    behaviour: str, clock: Turned, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading is bounded in time and size and follows no redirect; the log line omits the content."""
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


async def test_unexpected_errors_do_not_end_the_key_refresh(clock: Turned, quick: None) -> None:
    """Without the refreshing task no key would ever change again."""
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


@pytest.mark.virtual_time
async def test_keys_are_read_every_ten_minutes_and_after_failures_with_doubled_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failure is told once, and so is its end; keys that are still the same are not told again."""
    caplog.set_level("INFO", logger=issuer_keys.__name__)
    looks: list[float] = []
    well = compact_json(Issuer().jwks)

    async def read() -> KeySet:
        looks.append(asyncio.get_running_loop().time())
        if len(looks) > 11:
            raise asyncio.CancelledError
        if len(looks) in (*range(1, 8), 10):
            raise Unreadable("it is down")
        return parse_jwks(well)

    with pytest.raises(asyncio.CancelledError):
        await IssuerKeys(read).keep_fresh()
    gaps = [round(after - before, 6) for before, after in zip(looks, looks[1:], strict=False)]
    assert gaps == [1, 2, 4, 8, 16, 30, 30, 600, 600, 1, 600]
    assert [record.getMessage() for record in caplog.records] == [
        "MANGA_JWT_JWKS_URL: it is down; there are none yet, so no caller can be admitted",
        "MANGA_JWT_JWKS_URL answers again",
        "the issuer has 2 keys for this server, and 0 for something else",
        "MANGA_JWT_JWKS_URL: it is down; the last ones go on",
        "MANGA_JWT_JWKS_URL answers again",
    ]


@pytest.mark.virtual_time
@cases(("pause", "seconds"), [(60.0, 2.0), (1.75, 3.0)])
async def test_keys_are_read_for_two_seconds_a_step_and_three_in_all(pause: float, seconds: float) -> None:
    over = asyncio.Event()

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
        while not await wait_for(over, pause):
            writer.write(b" ")
        writer.transport.abort()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        async with jwks_source.jwks_source(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/") as read:
            began = asyncio.get_running_loop().time()
            with pytest.raises(Unreadable):
                await read()
        assert asyncio.get_running_loop().time() - began == pytest.approx(seconds)
        over.set()
        await asyncio.sleep(1)


async def test_empty_key_set_revokes_all_keys(clock: Turned) -> None:
    """An empty set is a valid answer, by which an issuer revokes everything."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            token = token_header(issuer.token())
            assert await keys.key_of(token)
            issuer.keys = []
            await keys.key_of(unknown())
            assert await keys.key_of(token) is None


async def test_unchanged_keys_stay_the_same_object(clock: Turned) -> None:
    """So tokens verified with them are not verified again after each read."""
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            await keys.key_of(token_header(issuer.token()))
            before = keys.current
            await keys.key_of(unknown())
            assert issuer.asked == 2
            assert keys.current is before


async def test_keys_may_be_read_from_a_file(tmp_path: Path) -> None:
    """An issuer may be unreachable from where the server runs."""
    file = tmp_path / "my keys.json"
    file.write_bytes(compact_json(Issuer().jwks))
    async with jwks_source.jwks_source(file.as_uri()) as read:
        assert len((await read()).keys) == 2
        file.unlink()
        with pytest.raises(Unreadable, match="cannot be read"):
            await read()


async def test_proxy_of_the_environment_is_not_used_for_loopback(clock: Turned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setitem(os.environ, "http_proxy", "http://127.0.0.1:9")
    with issuing() as issuer:
        async with kept(issuer, clock) as keys:
            assert await keys.key_of(token_header(issuer.token()))


@cases("text", [b"", b"null", b"[]", b'{"keys": {}}', b"[" * 100_000, b"\xff", b'{"keys"'])
def test_text_that_is_no_key_set_is_refused(text: bytes) -> None:
    with pytest.raises(Unreadable):
        parse_jwks(text)


def test_first_of_two_keys_with_one_name_and_algorithm_is_used() -> None:
    first, second = SigningKey.rsa("same"), SigningKey.rsa("same")
    found = parse_jwks(compact_json({"keys": [first.jwk(), second.jwk(), SigningKey.ec("same").jwk()]}))
    assert isinstance(found, KeySet)
    assert sorted(found.keys) == [("same", "ES256"), ("same", "RS256")]
    issuer = Issuer(keys=[first])
    key = found.keys.get(token_header(issuer.token()))
    assert key is not None
    assert AccessTokens(issuer.name, (AUDIENCE,)).claims(issuer.token(), key)


def test_ninety_keys_with_certificates_fit_into_the_size_limit() -> None:
    """Ninety keys are the most that are read, and some issuers add certificates."""
    assert len(compact_json({"keys": [SigningKey.rsa("k").jwk(x5c=["x" * 2000])] * 90})) < MOST_BYTES
