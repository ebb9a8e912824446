"""A program of ours as `python -m` runs it, whose stacks are written down: `python -m tests.load.flame.sampled FILE MODULE ...`.

SIGUSR1 begins the looking, the end of the program ends it: the file then has a line for each stack, its functions from the
outermost one, and how often it was seen ("folded", as Gregg's flamegraph.pl takes them).
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

from tests.load.flame.sampler import Samples, Stack


def main(file: Path, module: str, arguments: list[str]) -> int:
    samples = Samples()
    signal.signal(signal.SIGUSR1, lambda *_: samples.begin())
    sys.argv = [module, *arguments]
    status: int = import_module(module).main()
    file.write_text(folded(samples.stacks), "utf-8")
    return status


def folded(stacks: Counter[Stack]) -> str:
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))


def unfolded(text: str) -> Counter[Stack]:
    lines = (line.rpartition(" ") for line in text.splitlines())
    return Counter({tuple(stack.split(";")): int(count) for stack, _, count in lines})


if __name__ == "__main__":
    file, module, *rest = sys.argv[1:]
    sys.exit(main(Path(file), module, rest))
