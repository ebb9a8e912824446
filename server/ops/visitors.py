"""Access to the page: callers on this machine with MANGA_AUTH=none, else callers with a bearer."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from server.call import RequestMetadata
from server.config.settings import Settings
from server.identity import CannotTell, Identifier, Unproven
from server.identity.bearer import bearer_of
from server.identity.tool_access import SERVER
from server.transport.http.authorization import Challenge
from server.transport.http.responses import busy, plain
from server.transport.http.slots import holder_of
from session.resilience.rate_limit import LocalLimits, Rate
from tools.store.failures import DependencyFailure, Failure

CHAIN = "x-forwarded-for"
PROXIED = (CHAIN, "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto")
"""Headers that proxies add. The server reads the chain and the protocol, of trusted proxies alone."""


class Whereabouts:
    """Only a trusted proxy on this machine is believed about its caller's address: "loopback" from a proxy elsewhere means
    that machine's own."""

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._by_proxy = bool(trusted_proxies) and all(ip_network(each).is_loopback for each in trusted_proxies)

    def is_here(self, scope: Scope) -> bool:
        client, headers = scope.get("client"), Headers(scope=scope)
        if client is None or not _is_loopback(client[0]):
            return False
        if not any(name in headers for name in PROXIED):
            return True
        chain = ",".join(headers.getlist(CHAIN)).split(",")
        return self._by_proxy and all(_is_loopback(each.strip()) for each in chain)


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


SCOPE = f"{SERVER}:ops"
OWN_PAGE = ("same-origin", "none")
NOT_HERE = "Without MANGA_AUTH this is for callers on this machine; set MANGA_AUTH=token or jwt, or forward a port to it."
ANOTHER_SITE = "Only the page itself reads this."


class Visitors:
    """Host, Origin and bearer have passed HTTP's own checks. The page's limits are its own and take nothing from calls."""

    def __init__(self, settings: Settings, identifier: Identifier) -> None:
        self._identifier = identifier
        self._none = settings.auth == "none"
        self._scoped = settings.auth == "jwt"
        self._whereabouts = Whereabouts(settings.trusted_proxies)
        self._limits = LocalLimits(Rate(), capacity=1000) if settings.rate_limit else None

    async def refusal(self, scope: Scope, *, stream: bool) -> Response | None:
        """Returns the answer for callers who may not look, None for others. Another site may not open the stream in a
        visitor's browser, which says where a request comes from (W3C, Fetch Metadata)."""
        headers = Headers(scope=scope)
        if self._none and not self._whereabouts.is_here(scope):
            return plain(403, NOT_HERE)
        if stream and headers.get("sec-fetch-site", "none") not in OWN_PAGE:
            return plain(403, ANOTHER_SITE)
        if self._limits and (wait_ms := self._limits.wait_ms(holder_of(scope))):
            return plain(429, "Too many requests. Wait a moment.", {"Retry-After": str(-(-wait_ms // 1000))})
        return await self._unscoped(headers) if self._scoped else None

    async def may_still(self, scope: Scope) -> bool:
        """False once the token of a stream has expired or was revoked; True while the issuer cannot be asked."""
        headers = Headers(scope=scope)
        try:
            await self._identifier.admit(bearer_of(headers))
        except Unproven:
            return False
        except CannotTell:
            return True
        return not self._scoped or await self._unscoped(headers) is None

    async def _unscoped(self, headers: Headers) -> Response | None:
        try:
            principal = await self._identifier.identify(RequestMetadata(), bearer_of(headers))
        except DependencyFailure:
            return busy("The issuer's keys are not there yet, so nobody can be let in.")
        except Failure:
            return plain(403, "This token is not let in here.")
        if principal.scopes is None or SCOPE in principal.scopes:
            return None
        challenge = {"WWW-Authenticate": Challenge().for_scope({}, SCOPE)}
        return plain(403, f"This needs the scope {SCOPE}.", challenge)
