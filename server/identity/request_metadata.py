"""Request metadata (session, turn, user, budgets, idempotency key), and the identifiers for MANGA_AUTH=none and token. The
table of keys and headers is in infra/docs/identity.md.

A value is taken from `_meta`, else from its header, else (the session only) from W3C Baggage in `_meta`. Malformed baggage
and traceparent are ignored, as W3C Trace Context (3.2) and W3C Baggage (3.2) ask: a library writes them, not the agent."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import unquote

from server.call import Bearer, Principal, RequestMetadata, VerifiedIdentity
from server.config.parsing import LONGEST_USER, SettingError
from server.config.sources import follow_file
from server.telemetry.events import TRACEPARENT
from session.history import MOST_CALLS
from session.keys import user_hash
from session.turn import IMPLICIT, TurnKind, TurnName
from tools.store.failures import Forbidden, InvalidArguments, Violation

VOUCHED = "manga.vouched"
"""The ASGI scope's key for an identity that the relaying process has already verified."""


def bearer_of(headers: Mapping[str, str]) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def bearer_in(scope: Mapping[str, Any]) -> Bearer | None:
    """Returns the bearer token in an ASGI scope, or the identity that the relaying process has verified; else None."""
    given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    return scope.get(VOUCHED) or bearer_of({"authorization": given.decode("latin-1")})


PREFIX = "com.mangaassist/"
NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}")
Stated = str | int | float | None
NOT_TEXT = "\0not text"
"""Replaces lists, objects and booleans where text is expected; every check refuses it."""


def read_metadata(meta: Mapping[str, Any], headers: Mapping[str, str]) -> RequestMetadata:
    """Collects a request's metadata. The values are checked where they are used, by the `checked_` functions."""
    users = (_text(meta.get(PREFIX + "userId")), _utf8(headers.get("x-user-id")))
    stated = meta.get("traceparent")
    traceparent = stated if isinstance(stated, str) and TRACEPARENT.fullmatch(stated) else None
    return RequestMetadata(
        session=_first(meta, "sessionId", headers, "x-session-id") or _baggage_session(meta.get("baggage")),
        turn=_first(meta, "turnId", headers, "x-turn-id"),
        trace=traceparent.split("-")[1] if traceparent else None,
        user=users[0] or users[1],
        user_conflict=bool(users[0] and users[1] and users[0] != users[1]),
        turn_budget_ms=_first(meta, "turnBudgetMs", headers, "x-turn-budget-ms"),
        token_budget=_first(meta, "tokenBudget", headers, "x-token-budget"),
        expected_calls=_first(meta, "expectedCalls", headers, "x-expected-calls"),
        idempotency_key=_first(meta, "idempotencyKey", headers, "idempotency-key"),
        user_token=_text(meta.get(PREFIX + "userToken")),
        traceparent=traceparent,
        history=_text(meta.get(PREFIX + "history")),
    )


def checked_session(session: str | None) -> str | None:
    return _checked_name(session, "sessionId", "X-Session-ID")


def checked_key(key: str | None) -> str | None:
    return _checked_name(key, "idempotencyKey", "Idempotency-Key")


def checked_user(user: str | None) -> str | None:
    if user == NOT_TEXT:
        raise _make_format_error("userId", "X-User-ID", "it is no text", "give the user's id as text")
    if user is not None and len(user) > LONGEST_USER:
        raise _make_format_error("userId", "X-User-ID", "it is too long", f"use at most {LONGEST_USER} characters")
    return user


def checked_turn(metadata: RequestMetadata) -> TurnName:
    """Returns the turn by its stated name, else the trace id, else `IMPLICIT` (unnamed). Raises `InvalidArguments`."""
    named = _checked_name(metadata.turn, "turnId", "X-Turn-ID")
    if named:
        return TurnName(TurnKind.NAMED, named)
    return TurnName(TurnKind.TRACE, metadata.trace) if metadata.trace else IMPLICIT


def checked_budget_ms(budget: Stated) -> int | None:
    return _checked_number(budget, 0, 10**9, "turnBudgetMs", "X-Turn-Budget-Ms")


def checked_token_budget(budget: Stated) -> int | None:
    return _checked_number(budget, 0, 10**9, "tokenBudget", "X-Token-Budget")


def checked_expected_calls(expected: Stated) -> int:
    return _checked_number(expected, 1, 100, "expectedCalls", "X-Expected-Calls") or 1


def checked_history(history: Stated) -> int | None:
    return _checked_number(history, 1, MOST_CALLS, "history")


def _checked_name(value: str | None, key: str, header: str) -> str | None:
    if value is not None and not NAME.fullmatch(value):
        raise _make_format_error(key, header, "it is malformed", "use 1 to 128 of A-Z a-z 0-9 . _ : -")
    return value


def _checked_number(value: Stated, least: int, most: int, key: str, header: str = "") -> int | None:
    """Parses a number and drops its fraction; None if not stated. Raises `InvalidArguments` if not in range."""
    if value is None:
        return None
    try:
        number = int(float(value))
    except (ValueError, OverflowError):
        number = -1
    if not least <= number <= most:
        raise _make_format_error(key, header, "it is not a number in range", f"use a whole number from {least} to {most}")
    return number


def _make_format_error(key: str, header: str, message: str, fix: str) -> InvalidArguments:
    where = f"$._meta['{PREFIX}{key}']" + (f" or {header}" if header else "")
    return InvalidArguments([Violation(where, "format", message, fix)])


def _first(meta: Mapping[str, Any], key: str, headers: Mapping[str, str], header: str) -> str | None:
    value = _text(meta.get(PREFIX + key))
    return value if value is not None else headers.get(header) or None


def _text(value: Any) -> str | None:
    """Converts a number to text, an empty text to None, and any other type to `NOT_TEXT`."""
    if value is None or isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else NOT_TEXT


def _utf8(value: str | None) -> str | None:
    """Decodes a header, which HTTP libraries have read as Latin-1, as UTF-8. Returns it unchanged if it is not UTF-8."""
    if not value:
        return None
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _baggage_session(value: Any) -> str | None:
    if not isinstance(value, str) or len(value) > 8192:  # characters, the minimum that W3C Baggage requires (3.3.2)
        return None
    for member in value.split(","):
        key, _, rest = member.partition("=")
        if key.strip() == "session.id":
            session = unquote(rest.partition(";")[0].strip())
            return session if NAME.fullmatch(session) else None
    return None


class InvalidToken(Exception):
    """A bearer or user token is missing, invalid or expired. The message is for the sender, with no part of the token."""


class KeysUnavailable(Exception):
    """Tokens cannot be verified at the moment, since the issuer's keys are not loaded."""


class Identifier(Protocol):
    async def admit(self, bearer: str | None) -> str | None:
        """Verifies a request's bearer token. Returns an id of the principal that is not secret, or None with
        MANGA_AUTH=none. Raises `InvalidToken` or `KeysUnavailable`."""

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        """Returns the caller's identity. Raises `Forbidden` for an unusable token or a user that the token does not allow,
        `InvalidArguments` for a malformed user, and `DependencyFailure` if the issuer's keys are not loaded."""

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> VerifiedIdentity:
        """Verifies the bearer and, with jwt, the values of `tokens` before the request is relayed to another process. The
        result contains no token. A token that is not valid raises nothing here: the other process then refuses the call."""


class TrustStated:
    """Accepts every stated identity: of any agent over HTTP, by default on loopback only, or of the parent process over
    stdio. `user` is the customer if a call states none."""

    def __init__(self, user: str | None = None) -> None:
        self._user = user

    async def admit(self, bearer: str | None) -> str | None:
        return None

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        return Principal(user=checked_user(metadata.user or self._user))

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> VerifiedIdentity:
        return VerifiedIdentity()


class TrustTokens:
    """Authenticates the agent by one of several secrets; the agent may then state the user. Several secrets allow rotation.
    All are compared each time, in constant time."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    async def admit(self, bearer: str | None) -> str | None:
        if bearer is None or not self._is_valid(bearer):
            raise InvalidToken("A valid bearer token is needed.")
        return user_hash(bearer)

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        ok = bearer.bearer is True if isinstance(bearer, VerifiedIdentity) else bearer is not None and self._is_valid(bearer)
        if not ok:
            raise Forbidden("The agent's token is missing or wrong.")
        return Principal(agent="agent", user=checked_user(metadata.user))

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> VerifiedIdentity:
        return VerifiedIdentity(bearer is not None and self._is_valid(bearer))

    async def follow(self, read: Callable[[], Sequence[str]]) -> None:
        """Replaces the secrets when `read` returns others, until cancelled. An unreadable or empty file changes nothing."""

        def read_any() -> Sequence[str]:
            if not (tokens := read()):
                raise SettingError("MANGA_AUTH_TOKENS_FILE: there is no token in it")
            return tokens

        await follow_file("MANGA_AUTH_TOKENS_FILE", read_any, self._replace)

    def _replace(self, tokens: Sequence[str]) -> str | None:
        fresh = tuple(token.encode() for token in tokens)
        if fresh == self._tokens:
            return None
        self._tokens = fresh
        return f"the accepted tokens have changed; there are {len(fresh)}"

    def _is_valid(self, bearer: str) -> bool:
        given = bearer.encode("utf-8", "surrogatepass")
        matches = [hmac.compare_digest(given, token) for token in self._tokens]
        return any(matches)
