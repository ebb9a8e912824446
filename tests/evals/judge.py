"""Judges what an agent with a model did in the judged conversations: `python -m tests.evals.judge FILE [FILE]`.

A file is what `tests.evals.run --out` kept. A conversation is passed where each of its answers came from the tool of the script and
holds what it must. With two files, the second one's share less the first one's is printed too: say, with skills and without.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conversations.agent import judged
from tests.conversations.notebook import Notebook, NotShown, Page
from tests.conversations.script import Conversation, load_all
from tests.conversations.shelf import Json, Shelf


def problems(conversation: Conversation, turns: list[Json]) -> Iterator[str]:
    """What is wrong with the answers. Of several of one tool in a turn the best counts: a model may mend its call."""
    notes = Notebook(Shelf.of_the_demo())
    for number, (turn, played) in enumerate(zip(conversation.turns, turns, strict=True), 1):
        notes.pages.append(Page(turn.says))
        for call in (each for each in turn.calls if each.how == "tool"):
            answers = [each["result"] or {} for each in played["calls"] if each["name"] == call.name]
            try:
                found = [list(judged(call, answer, notes)) for answer in answers]
            except NotShown as lost:
                yield f"turn {number}: {lost}"
                return
            if not found:
                yield f"turn {number}: {call.name} was not called"
            elif least := min(found, key=len):
                yield f"turn {number}, {call.name}: {least[0]}"
        notes.pages[-1].answers += [each["result"] for each in played["calls"] if each["result"]]


def share(file: Path) -> float:
    """In percent; tells what failed."""
    scripts = {each.name: each for each in load_all()}
    played = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    passed = 0
    for each in played:
        found = list(problems(scripts[each["title"]], each["turns"]))
        passed += not found
        for problem in found[:1]:
            print(f"{each['title']}: {problem}")
    print(f"{file.name}: {passed} of {len(played)} conversations passed\n")
    return 100 * passed / len(played)


if __name__ == "__main__":
    shares = [share(Path(each)) for each in sys.argv[1:]]
    if len(shares) == 2:
        print(f"{shares[1] - shares[0]:+.0f} points")
