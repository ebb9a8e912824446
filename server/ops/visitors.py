"""Who may look: whoever is on this machine where nobody has to prove anything, else whoever has shown a bearer."""

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
from server.transport.http.metadata import Challenge
from server.transport.http.responses import busy, plain
from server.transport.http.slots import holder_of
from session.resilience.rate_limit import LocalLimits, Rate
from tools.store.failures import DependencyFailure, Failure

CHAIN = "x-forwarded-for"
PROXIED = (CHAIN, "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto")
"""What proxies add. Of these the server reads the chain, and the protocol, and those of trusted proxies alone."""


class Whereabouts:
    """A proxy on this machine that is trusted says where its caller is. Any other speaks for anybody: one elsewhere may have
    a loopback of its own in mind, and one that names nobody knows nobody."""

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
    """The Host, the Origin and the bearer have passed HTTP's own checks. What is asked here has limits of its own, so that
    looking takes nothing from anybody's calls."""

    def __init__(self, settings: Settings, identifier: Identifier) -> None:
        self._identifier = identifier
        self._none = settings.auth == "none"
        self._scoped = settings.auth == "jwt"
        self._whereabouts = Whereabouts(settings.trusted_proxies)
        self._limits = LocalLimits(Rate(), capacity=1000) if settings.rate_limit else None

    async def refusal(self, scope: Scope, *, stream: bool) -> Response | None:
        """Returns what to answer instead; None for who may look. `stream` is what no other site may open in a visitor's
        browser, which tells where a request is from (W3C, Fetch Metadata)."""
        headers = Headers(scope=scope)
        if self._none and not self._whereabouts.is_here(scope):
            return plain(403, NOT_HERE)
        if stream and headers.get("sec-fetch-site", "none") not in OWN_PAGE:
            return plain(403, ANOTHER_SITE)
        if self._limits and (wait_ms := self._limits.wait_ms(holder_of(scope))):
            return plain(429, "Too many requests. Wait a moment.", {"Retry-After": str(-(-wait_ms // 1000))})
        return await self._unscoped(headers) if self._scoped else None

    async def still_may(self, scope: Scope) -> bool:
        """Whether who opened a stream would be let in now: a token ends, or is taken back. Where nobody can tell, what was
        proven stays so."""
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
        challenge = {"WWW-Authenticate": Challenge().of_scope({}, SCOPE)}
        return plain(403, f"This needs the scope {SCOPE}.", challenge)
