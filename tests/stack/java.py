"""Finds a Java that is new enough, without starting any."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.stack.artefacts import StackError

PLACES = ("/usr/lib/jvm/*", "/opt/*", "/opt/java/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home")
VERSION = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)


def java_home(oldest: int, *, compiler: bool = False) -> Path:
    """The newest Java on this machine that is at least `oldest`. Raises `StackError`."""
    program = Path("bin", "javac" if compiler else "java")
    found = {home: version_of(home) for home in _candidates() if (home / program).exists()}
    fitting = [home for home, version in found.items() if version >= oldest]
    if not fitting:
        have = ", ".join(sorted({str(version) for version in found.values()})) or "none"
        raise StackError(f"needs {program.name} {oldest} or newer; here: {have} (set JAVA_HOME or MANGA_STACK_JAVA_HOME)")
    return max(fitting, key=lambda home: found[home])


def missing_for(server: str, oldest: int, *, fetched: bool) -> str | None:
    """Why a server that is fetched and needs Java can't be started here, or None when it can."""
    try:
        java_home(oldest)
    except StackError as e:
        return str(e)
    return None if fetched else f"{server} is not fetched: run `python -m tests.stack.ensure {server.split()[0].lower()}`"


def version_of(home: Path) -> int:
    """Read from the file that every Java carries; 0 when it does not say."""
    try:
        said = VERSION.search((home / "release").read_text(encoding="utf-8"))
    except OSError:
        return 0
    return int(said[1]) if said else 0


def _candidates() -> Iterator[Path]:
    for name in ("MANGA_STACK_JAVA_HOME", "JAVA_HOME"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parents[1]
    for place in PLACES:
        yield from Path("/").glob(place.lstrip("/"))
