"""`python -m infra.seed.fetch FOLDER s3://BUCKET/KEY?region=REGION …`: fetches the shop's own files for a container.

Runs once, before the server. If a file cannot be fetched, exits with 2 and one line, and the server does not start. With
`--follow SECONDS` runs beside the server, and fetches the policies that often if they have changed, until SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from server.standby.bundle import UnreachableError
from server.standby.s3 import S3Store
from tools.store.backends.aws_address import S3Address
from tools.store.records.policies_file import PoliciesFileError, load


async def fetch(url: str, folder: Path) -> None:
    """Writes the S3 object to `folder`, under the last part of its key, readable by all users. Raises UnreachableError, or
    ValueError for an unusable URL."""
    place, new = _place(url, folder)
    async with aclosing(S3Store(place)) as store:
        await store.fetch(None, new)
    _put(new)


async def follow(url: str, folder: Path, seconds: float) -> None:
    """Fetches the policies every so many seconds if they have changed, until cancelled. Usable ones replace the file by a
    rename. Otherwise the file stays, with one line on stderr for each unusable version and each time out of reach."""
    place, new = _place(url, folder)
    version, lost = None, False
    async with aclosing(S3Store(place)) as store:
        while True:
            try:
                newer = await store.fetch(version, new)
                if lost:
                    _tell("the policies can be fetched again")
                lost = False
                if newer:
                    version = newer
                    load(new)
                    _put(new)
            except UnreachableError as error:
                if not lost:
                    _tell(f"{error}; the last good policies stay in use")
                lost = True
            except (OSError, PoliciesFileError) as error:
                _tell(f"{error}; the last good policies stay in use")
            await asyncio.sleep(seconds)


def _place(url: str, folder: Path) -> tuple[S3Address, Path]:
    """Returns the object's address, and where it is written until it is whole."""
    place = S3Address.parse(url)
    return place, folder / f"{Path(place.prefix).name}.new"


def _put(new: Path) -> None:
    new.chmod(0o644)
    new.replace(new.with_suffix(""))


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def _run(given: argparse.Namespace) -> None:
    this = asyncio.current_task()
    assert this is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    for url in given.urls:
        await (fetch(url, given.folder) if given.follow is None else follow(url, given.folder, given.follow))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.seed.fetch")
    parser.add_argument("--follow", type=float, metavar="SECONDS")
    parser.add_argument("folder", type=Path)
    parser.add_argument("urls", nargs="+")
    logging.disable()  # botocore would tell a traceback of each role that cannot be assumed
    try:
        asyncio.run(_run(parser.parse_args(arguments)))
    except asyncio.CancelledError:
        return 128 + signal.SIGTERM
    except (UnreachableError, ValueError) as error:
        _tell(f"the shop's files cannot be fetched: {error}")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
