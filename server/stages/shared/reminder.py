"""What a caller is reminded of, who asked for it: the calls before that bear on this one."""

from __future__ import annotations

from server.call import Call
from session.begin import Begun
from session.history import Recollection
from tools.history.selection import About, bearing
from tools.history.summary import summary


def reminder(call: Call, begun: Begun, now: float) -> str | None:
    """Returns None where it was not asked for. `now` is in seconds since the epoch."""
    most = call.begin_request.history if call.begin_request else None
    if most is None:
        return None
    known = begun.history is not None or call.session is None
    past = Recollection(begun.history or (), last_shown=begun.last, shared=begun.shared, known=known)
    about = About.call(call.tool.tool, call.arguments, begun.last_ids)
    return summary(past, bearing(past.calls, about, most), now)
