#!/usr/bin/env python3
"""The shell of make's recipes when there is an .env: sh, in an environment with its values. The environment wins.

    infra/dotenv.py -c 'COMMAND'

Of the ways to write a value, those are read that Docker Compose reads alike. Any other is refused by its line, since a file
that two programs read differently helps nobody. Needs the standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import os
import re
import sys
from typing import NoReturn

FILE = ".env"
ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=[ \t]*(.*)")
QUOTED = re.compile(r"""(?:'([^']*)(?<!\\)'|"([^"\\$]*)")\s*(?: #.*)?""")


def values(text: str) -> dict[str, str]:
    """Returns the values of the lines, the last of each name. Raises ValueError, naming the line and never the value."""
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            assignment = ASSIGNMENT.fullmatch(line.rstrip())
            if assignment is None:
                raise ValueError(f"line {number} is not NAME=value")
            value = _value(assignment[2])
            if value is None:
                raise ValueError(f"line {number}: put the value of {assignment[1]} into single quotes, as in NAME='value'")
            found[assignment[1]] = value
    return found


def _value(written: str) -> str | None:
    """None where another program might read something else: an open quote, or a $ that could name a variable."""
    if quoted := QUOTED.fullmatch(written):
        return quoted[1] or quoted[2] or ""
    plain = written.partition(" #")[0].rstrip()
    return None if "$" in plain or plain.startswith(("'", '"', "#", "\\")) else plain


def main(arguments: list[str]) -> NoReturn:
    try:
        with open(FILE, encoding="utf-8") as file:  # noqa: PTH123 - any Python 3 that is about can run this
            stated = values(file.read())
    except (OSError, ValueError) as error:
        print(f"{FILE}: {error}", file=sys.stderr)
        sys.exit(2)
    os.execvpe("sh", ["sh", *arguments], {**stated, **os.environ})


if __name__ == "__main__":
    main(sys.argv[1:])
