"""Which packages bring tools: those with an entry point in the group `manga_tools.tools`."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points

GROUP = "manga_tools.tools"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Package:
    """One that is installed, in the version that its metadata names now. `also` are versions that have left their metadata
    in the same folder: which of them the modules are of nobody can tell."""

    name: str
    version: str
    entry_points: tuple[EntryPoint, ...]
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def installed() -> list[Package]:
    """Reads them from the disk, by name. Of two of one name the first on the path counts, as for an import."""
    importlib.invalidate_caches()  # or what was installed a moment ago is not seen
    found: dict[str, list[EntryPoint]] = {}
    of: dict[str, Distribution] = {}
    for each in entry_points(group=GROUP):
        if each.dist is not None:
            name = _normal(each.dist.name)
            of[name] = each.dist
            found.setdefault(name, []).append(each)
    return [_package(name, of[name], found[name]) for name in sorted(found)]


def _package(name: str, dist: Distribution, points: list[EntryPoint]) -> Package:
    version = dist.version or UNKNOWN
    here = {each.version or UNKNOWN for each in distributions(name=dist.name, path=[str(dist.locate_file(""))])}
    return Package(name, version, tuple(sorted(points, key=_by_name)), tuple(sorted(here - {version})))


def _normal(name: str | None) -> str:
    """`Manga_Extra` and `manga-extra` are one package (packaging.python.org, names and normalization)."""
    return re.sub(r"[-_.]+", "-", name).lower() if name else UNKNOWN


def _by_name(point: EntryPoint) -> str:
    return point.name
