"""What the service promises, as a verdict on each call: the numbers that somebody is woken for.

*In time*: an answer's last byte was with the socket at most 20 ms after its call's deadline, which is cut from what is left
of the turn's budget; so a turn of which each answer was in time has been answered within its budget.

*Usable*: the agent can go on with what it got. An answer is a dead end where it finds nothing while something is missing,
because nobody can tell whether there is nothing; with all backends well, nothing found is an answer. So it is where it has
none of what was asked for, but popular titles in its place.
"""

from __future__ import annotations

from server.call import CACHE, LIVE
from server.telemetry.events import CallFinished

IN_TIME, USABLE = "in_time", "usable"
LEVELS = (IN_TIME, USABLE)
GOOD, BAD = "good", "bad"
OWN_FAILURES = frozenset({"INTERNAL_ERROR", "DEPENDENCY_FAILURE", "TIMEOUT", "CIRCUIT_OPEN", "SERVER_BUSY"})
"""What a call fails of through no fault of its caller. BUDGET_EXHAUSTED is not among them: the turn was spent before the
call came, by the model's thinking as a rule; where slow calls have spent it, those were late."""
OF_NO_MATTER = frozenset({"session"})
"""What an answer can do without and still know that there is nothing."""

MATCHES = "matches"
"""What a fallback did without that shows nothing of what was asked for."""


def usable(event: CallFinished) -> bool | None:
    """Returns the verdict; None for a call that says nothing of the service: its caller gave it up, was wrong, or was
    refused what it may not have."""
    if event.outcome == "ok":
        return not _dead_end(event)
    return False if event.outcome in OWN_FAILURES else None


def _dead_end(event: CallFinished) -> bool:
    missing = event.source not in (LIVE, CACHE) or not OF_NO_MATTER.issuperset(event.degraded)
    return (event.empty and missing) or MATCHES in event.degraded
