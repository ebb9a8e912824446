"""The conditions as an answer states them, in few words, so that model and customer can correct them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.conditions.wanted import Want
from tools.contract import Json
from tools.schema.parts import INTEGER, STRING, STRINGS, list_of, record
from tools.store.models import Conditions, Range
from tools.store.search.conditions.wording import describe_condition
from tools.store.search.reading.reading import Understood

IMPOSSIBLE = "Nothing can be {}: ask the customer which of the two is meant."
NOT_OBEYED = "not obeyed"

UNDERSTOOD: Json = {
    "understood": list_of(record({"condition": STRING, "from": STRING}, ["condition", "from"])),
    "relaxed": {**STRINGS, "description": "Conditions let go: tell the customer."},
}
"""Properties of an output schema."""
NEXT_OFFSET: Json = {"next_offset": INTEGER}


def describe_understood(want: Want, relaxed: Sequence[str] = ()) -> Json:
    """`understood` and `relaxed`, each unless it is empty."""
    said: Json = {}
    if want.understood:
        said["understood"] = list(_list_understood(want.understood))
    if relaxed:
        said["relaxed"] = list(relaxed)
    empty = [
        describe_condition(name, want.conditions, want.currency)
        for name in want.conditions.stated
        if _is_empty(want.conditions, name)
    ]
    return said | join_notes(*want.remarks, *(IMPOSSIBLE.format(each) for each in empty[:1]))


def join_notes(*notes: str | None) -> Json:
    """A note of all that is to be said, where anything is."""
    note = " ".join(dict.fromkeys(filter(None, notes)))
    return {"note": note} if note else {}


def _is_empty(conditions: Conditions, name: str) -> bool:
    bounds = getattr(conditions, name)
    return isinstance(bounds, Range) and bounds.empty


def _list_understood(understood: Iterable[Understood]) -> Iterable[Json]:
    for each in understood:
        obeyed = "" if each.obeyed else f" ({NOT_OBEYED})"
        yield {"condition": each.condition + obeyed, "from": each.words}


def next_offset(want: Want, given: int, total: int) -> Json:
    """The offset after `given` rows; None at the end of the list."""
    after = want.offset + given
    return {"next_offset": after} if given and after < total else {}
