"""Names of sessions that say which process holds them: its name, a dot, and what it calls the session by itself."""

from __future__ import annotations

from server.transport.relay.post import NAME


def named(owner: str, inner: str) -> str:
    return f"{owner}.{inner}"


def parted(name: str) -> tuple[str | None, str]:
    """Tells owner and inner name; None for the owner of what names none."""
    owner, dot, inner = name.partition(".")
    return (owner, inner) if dot and NAME.fullmatch(owner) else (None, name)
