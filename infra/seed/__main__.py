"""Command line of `python -m infra.seed`. Exit status 0: done; 1: load failed; 2: invalid file, setting or argument."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from infra.seed.contents import ContentsError, Sources, read
from infra.seed.loads import Done, SeedError
from infra.seed.standby import BundleTarget
from infra.seed.work import seed, wanted
from server.commands.cli import exit_on_broken_pipe
from server.commands.errors import progress_bar
from server.config.parsing import SettingError
from server.config.settings import Settings, read_policies, read_vocabulary, warn_of_unknown_settings
from server.standby.bundle import KINDS
from tools.store.records.catalog_file import MOST_PROBLEMS

AGAIN = "what was written stays; run it again and it goes on from there"


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level="WARNING", format="%(levelname)s %(name)s %(message)s")
    try:
        settings = Settings.from_environment(os.environ)
        warn_of_unknown_settings(os.environ)
        contents = read(_sources(asked, settings), settings.identifiers, read_vocabulary(settings))
        _warn(contents.oddities)
        if asked.dry_run:
            read_policies(settings)
            print(f"files      {contents.counted}: every line can be used")
        standby = BundleTarget.of(asked.standby, asked.standby_kind, settings)
        if not wanted(settings, standby):
            print("nothing to seed: with MANGA_CATALOG_URL and MANGA_STORE_URL embedded: files are read at every start")
            return 0
        progress = progress_bar(sys.stderr)
        done = asyncio.run(seed(settings, contents, dry_run=asked.dry_run, progress=progress, standby=standby))
    except (SettingError, ContentsError) as error:
        return _complain(str(error), 2)
    except SeedError as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain(f"interrupted; {AGAIN}", 1)
    _report(done, dry_run=asked.dry_run)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.seed",
        description="Loads a catalogue into the OpenSearch of MANGA_CATALOG_URL, and into the DynamoDB of MANGA_STORE_URL "
        "its records, what is sold and what was ordered. Tables and index are created where they are missing. It may be "
        "run again at any time: what is there already is not written again, and a load that was killed goes on.",
    )
    files = parser.add_argument_group("files, JSON lines, plain or gzipped")
    files.add_argument("--catalog", type=Path, metavar="FILE", help="titles (default: MANGA_CATALOG_FILE, else the demo)")
    files.add_argument(
        "--volumes", type=Path, metavar="FILE", help="what each volume costs and how many there are (MANGA_VOLUMES_FILE)"
    )
    files.add_argument(
        "--orders",
        type=Path,
        metavar="FILE",
        help="orders (MANGA_ORDERS_FILE); the demo's come along by themselves, but not to AWS",
    )
    standby = parser.add_argument_group("the standby catalogue, by default as MANGA_STANDBY and MANGA_STANDBY_URL say")
    standby.add_argument("--standby", metavar="PLACE", help="a file, s3://BUCKET/KEY?region=REGION, or redis")
    standby.add_argument("--standby-kind", choices=KINDS, help="names (found by name) or full (by words and meaning)")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and change nothing")
    return parser


def _sources(asked: argparse.Namespace, settings: Settings) -> Sources:
    """Returns the files named on the command line. Without a named catalogue, the other files come from the settings."""
    if asked.catalog is not None:
        return Sources.of(asked.catalog, asked.volumes, asked.orders)
    return Sources.of(settings.catalog_file, asked.volumes or settings.volumes_file, asked.orders or settings.orders_file)


def _report(done: Done, *, dry_run: bool) -> None:
    print("\n".join(done.lines))
    ending = "nothing to do" if done.nothing_to_do else "nothing was changed" if dry_run else "done"
    print(f"{ending}, {done.seconds:.1f} s")


def _warn(oddities: Sequence[str]) -> None:
    for each in oddities[:MOST_PROBLEMS]:
        print(f"warning: {each}", file=sys.stderr)
    if len(oddities) > MOST_PROBLEMS:
        print(f"warning: and {len(oddities) - MOST_PROBLEMS} more", file=sys.stderr)


def _complain(line: str, status: int) -> int:
    print(f"seed: {line}", file=sys.stderr)
    return status


if __name__ == "__main__":
    raise SystemExit(exit_on_broken_pipe(main))
