"""Every conversation, judged. tests/README.md says how to read one, and how to add one."""

from __future__ import annotations

import pytest

from tests.conversations.agent import Agent
from tests.conversations.script import Conversation, load_all


def as_test(conversation: Conversation) -> pytest.param:
    known = [pytest.mark.xfail(strict=True, reason=conversation.known)] if conversation.known else []
    return pytest.param(conversation, id=conversation.name, marks=known)


@pytest.mark.parametrize("conversation", [as_test(each) for each in load_all()])
async def test_conversation(conversation: Conversation, agent: Agent) -> None:
    problems = await agent.play(conversation)
    assert not problems, "\n".join(problems)
