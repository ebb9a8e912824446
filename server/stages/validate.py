"""The arguments: cleaned, checked against the schema, completed with defaults. Costs no backend call.

Who calls is proven before; what a model writes of it among the arguments does not count. That is told in a note rather than
refused: nobody else's data is at stake, and a model's round is.
"""

from __future__ import annotations

from server.call import Call, Handler, Outcome
from tools.schema.text import clean, clean_text

USER = "user_id"
MOST_NAMED = 5
NOT_THE_CALLER = "user_id is not the customer of this conversation, so nothing personal is in this answer."


class Validate:
    """Replaces the arguments by checked ones. Raises `InvalidArguments` with all that is wrong at once."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        given, validator = call.arguments, call.tool.validator
        call.arguments = validator.validated(given)
        call.validated = True
        named = call.arguments.pop(USER, None)
        if named is not None and not _is_caller(call, named):
            call.impersonal = True
            call.notes.append(NOT_THE_CALLER)
        ignored = [name for name in validator.ignored(given) if name != USER or not _is_caller(call, clean(given.get(USER)))]
        if ignored:
            call.notes.append(f"Ignored: {', '.join(ignored[:MOST_NAMED])}. The caller is known without it; leave it out.")
        return await inner(call)


def _is_caller(call: Call, named: object) -> bool:
    return call.principal.user is not None and named == clean_text(call.principal.user)
