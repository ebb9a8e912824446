"""The table of a run: of each topic how many conversations were passed, open and locked ones apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.conversations.script import Conversation


@dataclass(frozen=True, slots=True)
class Played:
    conversation: Conversation
    problems: Sequence[str]

    @property
    def passed(self) -> bool:
        return not self.problems


def table(played: Sequence[Played]) -> str:
    """Markdown."""
    topics = dict.fromkeys(each.conversation.topic for each in played)
    rows = [(topic, [each for each in played if each.conversation.topic == topic]) for topic in topics]
    head = ["| topic | passed | open | locked |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *(_row(*row) for row in rows), _row("**all**", played)])


def summary(played: Sequence[Played]) -> str:
    """One line for a document."""
    turns = sum(len(each.conversation.turns) for each in played)
    known = sum(each.conversation.known is not None for each in played)
    return (
        f"{_share(played)} conversations of {turns} turns in {len({each.conversation.topic for each in played})} topics; "
        f"open {_share(_of(played, locked=False))}, locked {_share(_of(played, locked=True))}; known to fail: {known}"
    )


def failures(played: Iterable[Played], *, locked: bool) -> list[str]:
    """What was wrong. Of a locked conversation only its name, unless asked: nobody should make the server better by them."""
    lines = []
    for each in played:
        if not each.passed:
            lines.append(
                f"\n{each.conversation.name}" + (f" (known: {each.conversation.known})" if each.conversation.known else "")
            )
            lines += [f"  {problem}" for problem in each.problems if locked or not each.conversation.locked]
    return lines


def _row(topic: str, played: Sequence[Played]) -> str:
    return f"| {topic} | {_share(played)} | {_share(_of(played, locked=False))} | {_share(_of(played, locked=True))} |"


def _of(played: Iterable[Played], *, locked: bool) -> list[Played]:
    return [each for each in played if each.conversation.locked == locked]


def _share(played: Sequence[Played]) -> str:
    return f"{sum(each.passed for each in played)} of {len(played)}" if played else "-"
