"""What the benchmarks have in common as commands: their options, and how a run ends."""

from __future__ import annotations

import argparse
from typing import Protocol

from tests.load.report import FIGURES


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
    made.add_argument("--write", action="store_true", help="keep the table in tests/load/figures")
    made.add_argument("--bars", action="store_true", help="exit 1 when a bar is missed")
    return made


def told(text: str, results: Judged, asked: argparse.Namespace, file: str) -> int:
    """Prints the table, keeps it in this file of the figures where that is asked for, and returns the exit status."""
    print(text)
    if asked.write:
        (FIGURES / file).write_text(text, "utf-8")
    return 1 if asked.bars and results.missed() else 0
