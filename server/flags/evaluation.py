"""Whether a tool is on for a caller, and why."""

from __future__ import annotations

from dataclasses import dataclass

from server.call import Principal
from server.flags.cohorts import cohort_key, in_share
from server.flags.document import ON, Condition, Flag, Segment
from server.flags.facts import facts

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
