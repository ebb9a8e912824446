"""`python -m tests.conversations`: plays every conversation against a server of its own, and prints the table of topics.

What failed is printed below it; of locked conversations only the names, unless `--locked`. Exit code 1 when one failed that is
not known to.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.conversations.report import Played, failures, summary, table
from tests.conversations.script import Conversation, load_all
from tests.conversations.shop import open_shop


def main() -> int:
    options = _options()
    chosen = [each for each in load_all() if options.only in each.name]
    with tempfile.TemporaryDirectory() as folder:
        played = play_all(chosen, Path(folder))
    print(table(played), *failures(played, locked=options.locked), f"\n{summary(played)}", sep="\n")
    return 0 if all(each.passed != bool(each.conversation.known) for each in played) else 1


def play_all(conversations: list[Conversation], folder: Path) -> list[Played]:
    with open_shop(folder) as agent:

        async def play() -> list[Played]:
            return [Played(each, await agent.play(each)) for each in conversations]

        return asyncio.run(play())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conversations", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="those with this in their name: file::title")
    parser.add_argument("--locked", action="store_true", help="print what failed in locked conversations too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
