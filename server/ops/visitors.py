"""Who may look: whoever is on this machine where nobody has to prove anything, else whoever has shown a bearer."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from server.call import RequestMetadata
from server.config.settings import Settings
from server.identity import CannotTell, Identifier, Unproven
from server.identity.bearer import bearer_of
from server.identity.scopes import SERVER
from server.ops.whereabouts import Whereabouts
from server.transport.http.bounds.holders import holder_of
from server.transport.http.metadata import Challenge
from server.transport.http.responses import busy, plain
from session.resilience.rate_limit import LocalLimits, Rate
from tools.store.failures import DependencyFailure, Failure

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
