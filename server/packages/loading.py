"""A package as it is installed now: imported, and its tools compiled. All of it, or nothing.

Packages bring tools by an entry point in the group `manga_tools.tools`.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from importlib.util import find_spec
from types import ModuleType

from tools.contract import Tool
from tools.registry import Registered, ToolRefused

GROUP = "manga_tools.tools"
UNKNOWN = "unknown"
LONGEST = 300
MOST_TOOLS = 50
"""Of one package. Each is read by every model in every turn."""
Made = Callable[[Tool, str, str], Registered]
"""(tool, version, package) to what can be registered."""


class Refused(Exception):
    """`reason` is one line that says what is wrong and how to mend it, fit for everybody. `detail` is what the package's own
    code has raised, for whoever runs the server alone: nobody knows what is in it."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail

    @classmethod
    def by(cls, reason: str, error: BaseException) -> Refused:
        """Tells what was raised in one line."""
        return cls(reason, f"{type(error).__name__}: {_line_of(error)}"[:LONGEST].rstrip(": "))

    @property
    def whole(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


def _line_of(error: BaseException) -> str:
    """Without what a terminal would obey."""
    try:
        said = str(error)
    except BaseException:  # this is the package's own code too
        return ""
    return "".join(each if each.isprintable() else "?" for each in " ".join(said.split()))


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
    ordered = sorted(points, key=lambda point: point.name)
    return Package(name, version, tuple(ordered), tuple(sorted(here - {version})))


def _normal(name: str | None) -> str:
    """`Manga_Extra` and `manga-extra` are one package (packaging.python.org, names and normalization)."""
    return re.sub(r"[-_.]+", "-", name).lower() if name else UNKNOWN


class FreshImports:
    """One attempt to import modules anew. Nothing but what is beneath its roots is touched, so that the classes of the
    server itself stay the same for everybody; what the imported code takes out or exchanges is put back."""

    def __init__(self) -> None:
        self.roots = frozenset[str]()
        self._before: dict[str, ModuleType] = {}
        self._others: dict[str, ModuleType] = {}
        self._abandoned = False

    def begin(self, roots: Iterable[str]) -> None:
        """From now on nothing beneath them counts as imported."""
        self.roots = frozenset(roots)
        self._before = _taken_out(self.roots)
        self._others = {name: module for name, module in sys.modules.copy().items() if not _half_imported(module)}

    def end(self) -> None:
        """Says that nothing more will be imported."""
        self._put_back()
        if self._abandoned:
            self.undo()

    def abandon(self) -> None:
        """Does away with it while it may still go on, on another thread: what that imports until its end goes then too."""
        self._abandoned = True
        self._put_back()
        self.undo()

    def keep(self) -> None:
        """Lets go of the version before: there is no way back from here."""
        self._before = {}

    def undo(self) -> None:
        """Puts back what was: the half-imported rest of a failed attempt would be worse than either version."""
        _taken_out(self.roots)
        sys.modules.update(self._before)
        for root in self.roots & set(self._before):
            parent, _, name = root.rpartition(".")
            if parent in sys.modules:
                setattr(sys.modules[parent], name, self._before[root])

    def _put_back(self) -> None:
        """Once: what goes later goes for a reason."""
        others, self._others = self._others, {}
        sys.modules.update(others)


def forget(roots: Iterable[str]) -> None:
    """Lets go of the modules of a package that is gone; calls under way keep what they use."""
    _taken_out(frozenset(roots))


def root_of(module: str) -> str:
    """Returns the outermost package above a module that is no namespace: what is beneath it is one package's own. Raises
    `ImportError` for a name that leads nowhere."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if spec.origin is not None or spec.submodule_search_locations is None:
            return name
    return module


def _half_imported(module: ModuleType) -> bool:
    """By another thread, which takes it out again where that fails."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _taken_out(roots: frozenset[str]) -> dict[str, ModuleType]:
    beneath = tuple(f"{root}." for root in roots)
    names = [name for name in list(sys.modules) if name in roots or name.startswith(beneath)]
    taken = {name: sys.modules.pop(name, None) for name in names}
    return {name: module for name, module in taken.items() if module is not None}


@dataclass(frozen=True, slots=True)
class Loaded:
    """`imports` can be undone as long as nothing of it has been registered."""

    package: Package
    tools: Sequence[Registered]
    imports: FreshImports

    @property
    def names(self) -> list[str]:
        return [each.tool.name for each in self.tools]


def load(package: Package, made: Made, others: Collection[str], imports: FreshImports) -> Loaded:
    """Takes as long as the package's own code takes. `others` are modules that are somebody else's. Raises `Refused`, and
    leaves everything as it was then."""
    try:
        if package.also:
            versions = ", ".join((package.version, *package.also))
            raise Refused(f"the metadata of versions {versions} are in one folder: remove all but the last (dist-info)")
        imports.begin(_roots(package, others))
        tools = [each for point in package.entry_points for each in _tools_of(point)]
        if len(tools) > MOST_TOOLS:
            raise Refused(f"it brings {len(tools)} tools: a package may have {MOST_TOOLS}")
        names = [tool.name for tool in tools]
        if twice := [name for name in names if names.count(name) > 1]:
            raise Refused(f"two of its tools are called {twice[0]!s:.80}: give one of them another name")
        return Loaded(package, [_made(tool, package, made) for tool in tools], imports)
    except Refused:
        imports.undo()
        raise
    except BaseException as error:  # a list, a name: whatever is touched may be the package's own code
        imports.undo()
        raise Refused.by("its tools cannot be read", error) from None
    finally:
        imports.end()


def _roots(package: Package, others: Collection[str]) -> set[str]:
    """Raises `Refused` for a module of somebody else: to import that anew would pull it from under them."""
    roots = set()
    for point in package.entry_points:
        try:
            root = root_of(point.module)
        except (ImportError, ValueError, AttributeError) as error:
            raise Refused.by(f"{point.module} cannot be found: correct the entry point {point.name}", error) from None
        if root in others:
            raise Refused(f"its module {root} is the server's or another package's: give it one of its own")
        roots.add(root)
    return roots


def _tools_of(point: EntryPoint) -> Iterator[Tool]:
    try:
        found = point.load()
    except AttributeError as error:
        raise Refused.by(f"{point.value} is not there, or its import fails", error) from None
    except BaseException as error:  # whatever the code of others does, SystemExit among it
        raise Refused.by(f"the import of {point.value} fails", error) from None
    for each in found if isinstance(found, list | tuple) else (found,):
        if not isinstance(each, Tool):
            what = type(each).__name__
            raise Refused(f"{point.value} holds a {what}: it has to be a tools.contract.Tool or a list of them")
        yield each


def _made(tool: Tool, package: Package, made: Made) -> Registered:
    try:
        return made(tool, package.version, package.name)
    except ToolRefused as error:
        raise Refused(str(error)) from None
    except Exception as error:
        raise Refused.by(f"{tool.name!s:.80}: it cannot be compiled", error) from None
