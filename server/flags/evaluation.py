"""Whether a tool is on for a caller, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from server.call import Principal
from server.flags.document import ON, Condition, Document, Flag, Segment
from tools.contract import Tool

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


WHOLE = 2**32


def cohort_key(user: str | None, session: str | None) -> str | None:
    """Whom a share is about: the verified user, else the session. None for a caller of whom neither is known."""
    if user is not None:
        return user
    return f"\0{session}" if session is not None else None


def place(flag: str, key: str) -> float:
    """Places a key between 0 and 100, evenly over keys, in another order for each flag."""
    hashed = hashlib.sha256(f"{flag}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:4], "big") / WHOLE * 100


def in_share(flag: str, key: str | None, percent: float) -> bool:
    """Tells whether a key belongs to the first `percent`, 0 to 100. Who has no key is in the whole alone."""
    return percent >= 100 or (key is not None and place(flag, key) < percent)


OFF = "off"


@dataclass(frozen=True, slots=True)
class Decision:
    """`variant` is what metrics tell of: "on", "off", or the name of the segment by which it is on. `why` is for a person,
    and names no user."""

    on: bool
    variant: str
    why: str


ON_BY_ITSELF = Decision(True, ON, "no flag names it, and it is on by itself")
OFF_BY_ITSELF = Decision(False, OFF, "no flag names it, and it is off by itself: an experiment")
NOT_KNOWN = Decision(False, OFF, "no flags document is known yet")
FLAG_OFF = Decision(False, OFF, "the flag: off for everybody")
NO_SEGMENT = Decision(False, OFF, "none of the flag's segments applies")


def decide(tool: str, flag: Flag, principal: Principal, session: str | None) -> Decision:
    """The first segment whose conditions all hold decides. A share is of the users, or of the sessions without a user."""
    for segment in flag:
        if all(_holds(each, principal) for each in segment.conditions):
            return _of_segment(tool, segment, principal.user, session)
    return NO_SEGMENT if flag else FLAG_OFF


def _holds(condition: Condition, principal: Principal) -> bool:
    """What is not known satisfies no condition."""
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
    """Decides by the `document` that was taken last: whoever follows a source exchanges it whole. As long as none is `known`
    every tool is off: one of them may have been switched off for a reason."""

    def __init__(self, document: Document | None = None) -> None:
        self.document = document or Document()
        self.known = True

    def decide(self, tool: Tool, principal: Principal, session: str | None = None) -> Decision:
        """Without a session: as everybody sees it who is as well proven, which is how tools are listed."""
        flag = self.document.flags.get(tool.flag)
        if not self.known:
            return NOT_KNOWN
        if flag is None:
            return ON_BY_ITSELF if tool.default_on else OFF_BY_ITSELF
        return decide(tool.flag, flag, principal, session)

    def depends_on_user(self, tool: Tool) -> bool:
        flag = self.document.flags.get(tool.flag)
        return not flag[0].decides_for_everybody if flag else False
