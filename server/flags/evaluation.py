"""Decides whether a tool is on for a caller, and gives the reason."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from server.call import Principal
from server.flags.document import ON, Condition, Document, Flag, Segment
from tools.contract import Tool

Facts = frozenset[str]


def kind(principal: Principal) -> str:
    """Returns how the user is proven: `anonymous`, `stated` by the caller, by an `agent` with a secret, or by a `token`."""
    if principal.user is None:
        return "anonymous"
    if principal.scopes is not None:
        return "token"
    return "agent" if principal.is_proven else "stated"


def facts(about: str, principal: Principal) -> Facts:
    """Returns the values of one property of the caller; empty if unknown. Without a token there are no scopes."""
    if about == "scopes":
        return principal.scopes or frozenset()
    value = {"user": principal.user, "principal": kind(principal), "client": principal.agent}[about]
    return frozenset() if value is None else frozenset((value,))


def cohort_key(user: str | None, session: str | None) -> str | None:
    """Returns the key of a share: the verified user, else the session; None without both."""
    if user is not None:
        return user
    return f"\0{session}" if session is not None else None


def percentile_of(flag: str, key: str) -> float:
    """Hashes a key to 0–100, evenly over keys and independently for each flag."""
    hashed = hashlib.sha256(f"{flag}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:4], "big") / 2**32 * 100


def in_share(flag: str, key: str | None, percent: float) -> bool:
    """True if the key is in the first `percent` (0 to 100); without a key only for 100."""
    return percent >= 100 or (key is not None and percentile_of(flag, key) < percent)


OFF = "off"


@dataclass(frozen=True, slots=True)
class Decision:
    """`variant` is for metrics: "on", "off", or the segment by which it is on. `why` is for a person and names no user."""

    on: bool
    variant: str
    why: str


ON_BY_ITSELF = Decision(True, ON, "no flag names it, and it is on by itself")
OFF_BY_ITSELF = Decision(False, OFF, "no flag names it, and it is off by itself: an experiment")
NOT_KNOWN = Decision(False, OFF, "no flags document is known yet")
FLAG_OFF = Decision(False, OFF, "the flag: off for everybody")
NO_SEGMENT = Decision(False, OFF, "none of the flag's segments applies")


def decide(tool: str, flag: Flag, principal: Principal, session: str | None) -> Decision:
    """The first segment whose conditions all hold decides. A share is of users, or of sessions without a user."""
    for segment in flag:
        if all(_holds(each, principal) for each in segment.conditions):
            return _of_segment(tool, segment, principal.user, session)
    return NO_SEGMENT if flag else FLAG_OFF


def _holds(condition: Condition, principal: Principal) -> bool:
    """An unknown property satisfies no condition."""
    known = facts(condition.about, principal)
    return bool(known) and known.isdisjoint(condition.values) is condition.negated


def _of_segment(tool: str, segment: Segment, user: str | None, session: str | None) -> Decision:
    key = cohort_key(user, session)
    on = in_share(tool, key, segment.rollout)
    whose = "the flag" if segment.name == ON else f"segment {segment.name!r}"
    where = "in" if on else "outside"
    if segment.rollout >= 100:
        why = f"{whose}: for everybody" + (" whom its conditions are about" if segment.conditions else "")
    elif key is None:
        why = f"{whose}: {segment.rollout:g} %, and there is neither user nor session to decide by"
    else:
        why = f"{whose}: {where} its {segment.rollout:g} %, by {'session' if user is None else 'user'}"
    return Decision(on, segment.name if on else OFF, why)


class Flags:
    """Decides by the current `document`, which its follower replaces whole. Until one is `known` every tool is off: one may
    have been switched off for a reason."""

    def __init__(self, document: Document | None = None) -> None:
        self.document = document or Document()
        self.known = True

    def decide(self, tool: Tool, principal: Principal, session: str | None = None) -> Decision:
        """Decides one tool for a caller. Without a session it decides as for lists, which do not depend on sessions."""
        flag = self.document.flags.get(tool.flag)
        if not self.known:
            return NOT_KNOWN
        if flag is None:
            return ON_BY_ITSELF if tool.default_on else OFF_BY_ITSELF
        return decide(tool.flag, flag, principal, session)

    def depends_on_user(self, tool: Tool) -> bool:
        flag = self.document.flags.get(tool.flag)
        return not flag[0].decides_for_everybody if flag else False
