#!/usr/bin/env python3
"""Runs sh with the variables of the .env file, as the shell of make's recipes. Variables that are already set win.

    infra/dotenv.py -c 'COMMAND'

Accepts only values that Docker Compose reads alike, and refuses any other line by its number, so that no two programs read
the file differently. Needs only the standard library, since it runs before anything is installed."""

from __future__ import annotations

import os
import re
import sys
from typing import NoReturn

FILE = ".env"
ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=[ \t]*(.*)")
QUOTED = re.compile(r"""(?:'([^']*)(?<!\\)'|"([^"\\$]*)")\s*(?: #.*)?""")


def values(text: str) -> dict[str, str]:
    """Returns the values by name; a later line wins. Raises ValueError, which names the line and never the value."""
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
    """Returns the value; None if other programs may read it differently: an open quote, or a $ that may name a variable."""
    if quoted := QUOTED.fullmatch(written):
        return quoted[1] or quoted[2] or ""
    plain = written.partition(" #")[0].rstrip()
    return None if "$" in plain or plain.startswith(("'", '"', "#", "\\")) else plain


def main(arguments: list[str]) -> NoReturn:
    try:
        with open(FILE, encoding="utf-8") as file:  # noqa: PTH123 - any installed Python 3 can run this
            stated = values(file.read())
    except (OSError, ValueError) as error:
        print(f"{FILE}: {error}", file=sys.stderr)
        sys.exit(2)
    os.execvpe("sh", ["sh", *arguments], {**stated, **os.environ})


if __name__ == "__main__":
    main(sys.argv[1:])
