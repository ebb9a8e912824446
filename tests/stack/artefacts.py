"""Files from Maven Central: listed with their SHA-256 in `artefacts.lock`, fetched by Maven once, checked, kept in a cache.

Everything is listed one by one, so nothing arrives that the list does not name. Which registry Maven asks is the affair of
the machine's own Maven settings.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

LOCK = Path(__file__).with_name("artefacts.lock")
FETCH_SECONDS = 900
FETCH_TRIES = 3
RESOLVER = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


class StackError(Exception):
    """A real server cannot be had on this machine; the text says why and what to do."""


@dataclass(frozen=True)
class Artefact:
    """One file of a set, as `group:name:version:type[:classifier]` and the SHA-256 it has to have."""

    group: str
    name: str
    version: str
    kind: str
    sha256: str
    classifier: str = ""

    @property
    def path(self) -> Path:
        folder = Path(*self.group.split("."), self.name, self.version)
        return repository() / folder / f"{'-'.join(filter(None, (self.name, self.version, self.classifier)))}.{self.kind}"

    @property
    def coordinates(self) -> str:
        return ":".join(filter(None, (self.group, self.name, self.version, self.kind, self.classifier)))

    @classmethod
    def parse(cls, coordinates: str, sha256: str) -> Artefact:
        group, name, version, kind, *classifier = coordinates.split(":")
        return cls(group, name, version, kind, sha256, *classifier)


def cache() -> Path:
    """Where everything fetched or unpacked is kept: MANGA_STACK_CACHE, else `.cache/stack` under the repository."""
    chosen = os.environ.get("MANGA_STACK_CACHE")
    return Path(chosen).resolve() if chosen else Path(__file__).parents[2] / ".cache" / "stack"


def repository() -> Path:
    return cache() / "maven"


def listed(group: str) -> tuple[Artefact, ...]:
    """The files of one set, as the lock file has them."""
    rows = (line.split() for line in LOCK.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return tuple(Artefact.parse(coordinates, sha256) for of, coordinates, sha256 in rows if of == group)


def is_fetched(group: str) -> bool:
    return _marker(group).exists()


def fetch(group: str) -> tuple[Artefact, ...]:
    """Brings the files of a set that are not here yet and checks them all. Raises `StackError`."""
    wanted = listed(group)
    if not wanted:
        raise StackError(f"{LOCK.name} lists nothing for {group!r}")
    with only_one("fetch"):
        if not _marker(group).exists():
            _resolve(wanted)
            _check(wanted)
            _marker(group).touch()
    return wanted


def digest(group: str, *files: Path) -> str:
    """A few characters that change when the set or one of the files does."""
    rows = "\n".join(f"{each.coordinates} {each.sha256}" for each in listed(group))
    return hashlib.sha256(b"".join([rows.encode(), *(file.read_bytes() for file in files)])).hexdigest()[:12]


@contextmanager
def only_one(of: str) -> Iterator[None]:
    """Two processes that want the same thing fetched or unpacked do it one after the other."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"{of}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _marker(group: str) -> Path:
    """A new list has a new name, so that a changed checksum is never taken for checked."""
    return cache() / f"{group}-{digest(group)}.checked"


def _resolve(wanted: Iterable[Artefact]) -> None:
    missing = [each for each in wanted if not each.path.exists()]
    for left in reversed(range(FETCH_TRIES)):
        if not missing:
            return
        try:
            _maven(f"{RESOLVER}:resolve", _project(missing, alone=True))
        except StackError:
            if not left:
                raise
        missing = [each for each in missing if not each.path.exists()]


def _check(wanted: Iterable[Artefact]) -> None:
    for each in wanted:
        found = _sha256(each.path)
        if found != each.sha256:
            each.path.unlink()
            raise StackError(f"{each.coordinates} has the SHA-256 {found}, not {each.sha256}: it was removed")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise StackError(f"Maven ended well, but {path.name} is not there") from None


def _maven(goal: str, project: str, *options: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise StackError("mvn is not installed (Debian: apt-get install maven)")
    with tempfile.TemporaryDirectory(prefix="manga-maven-") as folder:
        pom = Path(folder, "pom.xml")
        pom.write_text(project, encoding="utf-8")
        command = [maven, "-q", "-B", "-f", str(pom), f"-Dmaven.repo.local={repository()}", goal, *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise StackError(f"Maven did not end in {FETCH_SECONDS} s") from None
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if "ERROR" in line]
        raise StackError(f"Maven failed: {said[0] if said else done.stdout[-500:]}")


def _project(wanted: Iterable[Artefact], *, alone: bool) -> str:
    """A project that depends on what is wanted and, when `alone`, on nothing that those ask for."""
    nothing_else = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    more = nothing_else if alone else ""
    dependencies = "".join(
        f"<dependency><groupId>{escape(each.group)}</groupId><artifactId>{escape(each.name)}</artifactId>"
        f"<version>{escape(each.version)}</version><type>{escape(each.kind)}</type>"
        f"<classifier>{escape(each.classifier)}</classifier>{more}</dependency>"
        for each in wanted
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>stack</groupId><artifactId>stack</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
    )


def resolved(root: str) -> tuple[str, ...]:
    """What an artefact needs at run time, itself included, by Maven's own reckoning: for a new version's lock lines."""
    with tempfile.TemporaryDirectory(prefix="manga-maven-") as folder:
        report = Path(folder, "list.txt")
        project = _project([Artefact.parse(root, "")], alone=False)
        _maven(f"{RESOLVER}:list", project, "-DincludeScope=runtime", f"-DoutputFile={report}")
        rows = [
            line.split()[0].split(":") for line in report.read_text(encoding="utf-8").splitlines() if line.count(":") >= 4
        ]
    return tuple(sorted(":".join([group, name, version, kind]) for group, name, kind, version, *_ in rows))


def main() -> None:
    """Prints the lock lines of a set, so that a new version can be put into the lock file."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("group", help="the name of the set, as in dynamodb-local")
    parser.add_argument("coordinates", nargs="+", help="group:name:version:type[:classifier]")
    parser.add_argument("--with-dependencies", action="store_true")
    asked = parser.parse_args()
    found = [each for root in asked.coordinates for each in (resolved(root) if asked.with_dependencies else [root])]
    wanted = [each for each in (Artefact.parse(one, "") for one in found) if each.kind in ("jar", "zip")]
    _resolve(wanted)
    for each in wanted:
        print(asked.group, each.coordinates, _sha256(each.path))


if __name__ == "__main__":
    main()
