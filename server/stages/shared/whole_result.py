"""The whole of a result that was shortened, packed for its session to keep."""

from __future__ import annotations

from pydantic_core import to_json

from server.call import Call
from session.recollection import LARGEST_WHOLE
from session.snapshots import pack
from tools.conditions.remembered import without_words


def packed_whole(call: Call) -> bytes:
    """Empty where there is none to keep: what is personal is kept nowhere but where it comes from, and one result must not
    fill a session."""
    if call.whole is None or call.session is None or call.tool.tool.personal or not call.tool.tool.recorded:
        return b""
    packed = pack(to_json(without_words(call.whole)))
    return packed if len(packed) <= LARGEST_WHOLE else b""
