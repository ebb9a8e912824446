"""What conditions may ask about a caller: what has been verified, and never what a caller merely says of itself.

With MANGA_AUTH=none the user is as stated, because there whoever can call at all is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from server.call import Principal

Facts = frozenset[str]


def kind(principal: Principal) -> str:
    """Tells who stands behind the user: nobody is known (`anonymous`), the caller's word (`stated`), an agent with a secret
    (`agent`), or a token of an issuer (`token`)."""
    if principal.user is None:
        return "anonymous"
    if principal.scopes is not None:
        return "token"
    return "agent" if principal.proven else "stated"


def facts(about: str, principal: Principal) -> Facts:
    """Everything that is known of this kind; empty when nothing is."""
    return _FACTS[about](principal)


def _one(value: str | None) -> Facts:
    return frozenset() if value is None else frozenset((value,))


_FACTS: Mapping[str, Callable[[Principal], Facts]] = {
    "user": lambda principal: _one(principal.user),
    "principal": lambda principal: _one(kind(principal)),
    "client": lambda principal: _one(principal.agent),
    # Without a token nobody has granted any: then everything is allowed, which is no fact about the caller.
    "scopes": lambda principal: principal.scopes or frozenset(),
}
