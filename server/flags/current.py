"""The flags as they are now."""

from __future__ import annotations

from server.call import Principal
from server.flags.document import Document
from server.flags.evaluation import NOT_KNOWN, OFF_BY_ITSELF, ON_BY_ITSELF, Decision, decide
from tools.contract import Tool


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
