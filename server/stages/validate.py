"""The arguments: cleaned, checked against the schema, completed with defaults. Costs no backend call."""

from __future__ import annotations

from server.call import Call, Handler, Outcome
from tools.failures import Forbidden
from tools.validation import clean_text


class Validate:
    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        call.arguments = call.tool.validator.validated(call.arguments)
        call.validated = True
        stated_user = call.arguments.pop("user_id", None)
        if stated_user is not None and stated_user != clean_text(call.principal.user or ""):
            raise Forbidden("user_id is not the customer of this conversation. Leave it out.")
        return await inner(call)
