"""What the benchmarks have in common as commands: their options, and how a run ends."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Protocol


class Judged(Protocol):
    """Figures that are held against bars."""

    def missed(self) -> object:
        """Whatever is true when a bar was missed."""
        ...


def parser(module: str, description: str | None, *, seconds: float, of: str, rounds: int) -> argparse.ArgumentParser:
    """With the options that every benchmark has; `of` tells what each of the `seconds` is for."""
    made = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    made.add_argument("--seconds", type=float, default=seconds, help=f"for each {of}")
    made.add_argument("--rounds", type=int, default=rounds)
    made.add_argument("--write", action="store_true", help="write the table into tests/load/README.md")
    made.add_argument("--bars", action="store_true", help="exit 1 when a bar is missed")
    return made


def told(text: str, results: Judged, asked: argparse.Namespace, write: Callable[[str], None]) -> int:
    """Prints the table, writes it where that is asked for, and gives the exit status."""
    print(text)
    if asked.write:
        write(text)
    return 1 if asked.bars and results.missed() else 0
