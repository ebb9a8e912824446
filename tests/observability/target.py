"""Where a command draws to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from server.config.settings import ROOT


def target(about: str | None, kept: Path, arguments: Sequence[str] | None) -> Path:
    """A file that is named, or with --write the picture that the documents show. Ends the process where it is neither."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("file", nargs="?", type=Path)
    where.add_argument("--write", action="store_true", help=str(kept.relative_to(ROOT)))
    asked = parser.parse_args(arguments)
    return kept if asked.write else Path(asked.file)
