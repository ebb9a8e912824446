"""Imports an installed package and compiles its tools, completely or not at all.

Packages announce tools by an entry point in the group `manga_tools.tools`."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from importlib.util import find_spec
from itertools import accumulate
from types import ModuleType

from tools.contract import Tool
from tools.registry import Registered, ToolRefused

GROUP = "manga_tools.tools"
UNKNOWN = "unknown"
MOST_TOOLS = 50
"""Most tools of one package: every model reads all of them in every turn."""
Compile = Callable[[Tool, str, str], Registered]
"""Compiles a tool with its version and package for the registry."""


class Refused(Exception):
    """A package was refused. `reason` is one line, safe to publish, with the problem and its remedy. `detail` describes an
    exception of the package's code; it is for operators only, since it may contain anything."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail

    @classmethod
    def from_error(cls, reason: str, error: BaseException) -> Refused:
        """Makes a refusal with the error as its `detail`: one line of at most 300 characters, without control characters."""
        try:
            words = " ".join(str(error).split())
        except BaseException:  # str() runs the package's code
            words = ""
        words = "".join(each if each.isprintable() else "?" for each in words)
        return cls(reason, f"{type(error).__name__}: {words}"[:300].rstrip(": "))

    @property
    def whole(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package, by its metadata. `conflicting_versions` are other versions whose metadata is in the same folder,
    so that it is unclear which version the modules belong to."""

    name: str
    version: str
    entry_points: tuple[EntryPoint, ...]
    conflicting_versions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def find_packages() -> list[Package]:
    """Returns the installed packages that have tools, sorted by name. If two have the same name, the first on sys.path
    counts, as for imports. Names are normalised (packaging.python.org): `Manga_Extra` is `manga-extra`."""
    importlib.invalidate_caches()  # else a package installed a moment ago is not found
    found: dict[str, tuple[Distribution, list[EntryPoint]]] = {}
    for point in entry_points(group=GROUP):
        if point.dist is not None:
            name = re.sub(r"[-_.]+", "-", point.dist.name).lower() if point.dist.name else UNKNOWN
            _, points = found.get(name, (None, []))
            found[name] = point.dist, [*points, point]
    packages = []
    for name, (dist, points) in sorted(found.items()):
        version = dist.version or UNKNOWN
        here = {each.version or UNKNOWN for each in distributions(name=dist.name, path=[str(dist.locate_file(""))])}
        ordered = sorted(points, key=lambda point: point.name)
        packages.append(Package(name, version, tuple(ordered), tuple(sorted(here - {version}))))
    return packages


class ReimportAttempt:
    """One attempt to import modules again. Only modules below `roots` are replaced, so that the server's own classes stay
    the same. `end` restores other modules that the imported code has replaced or removed since `begin`."""

    def __init__(self) -> None:
        self.roots = frozenset[str]()
        self._before: dict[str, ModuleType] = {}
        self._others: dict[str, ModuleType] = {}
        self._abandoned = False

    def begin(self, roots: Iterable[str]) -> None:
        self.roots = frozenset(roots)
        self._before = unload(self.roots)
        self._others = {name: module for name, module in sys.modules.copy().items() if not _is_half_imported(module)}

    def end(self) -> None:
        """Ends the attempt: restores modules outside the roots, and undoes the imports if they were abandoned."""
        others, self._others = self._others, {}  # only once: modules removed later are removed on purpose
        sys.modules.update(others)
        if self._abandoned:
            self.undo()

    def abandon(self) -> None:
        """Ends the attempt and undoes the imports. `end` undoes them again, since the importing thread may still run."""
        self._abandoned = True
        self.end()

    def commit(self) -> None:
        """Drops the previous version's modules. The imports can no longer be undone."""
        self._before = {}

    def undo(self) -> None:
        """Removes the imported modules, and restores those of the previous version, if any."""
        unload(self.roots)
        sys.modules.update(self._before)
        for root in self.roots & set(self._before):
            parent, _, name = root.rpartition(".")
            if parent in sys.modules:
                setattr(sys.modules[parent], name, self._before[root])


def _is_half_imported(module: ModuleType) -> bool:
    """True while a thread is importing the module; that thread removes the module if the import fails."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def unload(roots: Iterable[str]) -> dict[str, ModuleType]:
    """Removes the modules below `roots` from `sys.modules` and returns them. Running calls keep their references."""
    roots = frozenset(roots)
    beneath = tuple(f"{root}." for root in roots)
    names = [name for name in list(sys.modules) if name in roots or name.startswith(beneath)]
    removed = {name: sys.modules.pop(name, None) for name in names}
    return {name: module for name, module in removed.items() if module is not None}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded package. `imports` can be undone until the tools are registered."""

    package: Package
    tools: Sequence[Registered]
    imports: ReimportAttempt

    @property
    def names(self) -> list[str]:
        return [each.tool.name for each in self.tools]


def load(package: Package, compile_tool: Compile, others: Collection[str], imports: ReimportAttempt) -> Loaded:
    """Imports a package and compiles its tools; blocks while the package's code runs. `others` are module names of the
    server and of other packages; `imports` is a new attempt. Raises `Refused`, after restoring all modules."""
    try:
        if package.conflicting_versions:
            versions = ", ".join((package.version, *package.conflicting_versions))
            raise Refused(f"the metadata of versions {versions} are in one folder: remove all but the last (dist-info)")
        imports.begin(_roots(package, others))
        tools = [each for point in package.entry_points for each in _tools_of(point)]
        if len(tools) > MOST_TOOLS:
            raise Refused(f"it brings {len(tools)} tools: a package may have {MOST_TOOLS}")
        names = [tool.name for tool in tools]
        if twice := [name for name in names if names.count(name) > 1]:
            raise Refused(f"two of its tools are called {twice[0]!s:.80}: give one of them another name")
        return Loaded(package, [_compile(tool, package, compile_tool) for tool in tools], imports)
    except Refused:
        imports.undo()
        raise
    except BaseException as error:  # reading any attribute may run the package's code
        imports.undo()
        raise Refused.from_error("its tools cannot be read", error) from None
    finally:
        imports.end()


def _roots(package: Package, others: Collection[str]) -> set[str]:
    roots = set()
    for point in package.entry_points:
        try:
            root = root_of(point.module)
        except (ImportError, ValueError, AttributeError) as error:
            reason = f"{point.module} cannot be found: correct the entry point {point.name}"
            raise Refused.from_error(reason, error) from None
        if root in others:
            raise Refused(f"its module {root} is the server's or another package's: give it one of its own")
        roots.add(root)
    return roots


def root_of(module: str) -> str:
    """Returns the shortest dotted beginning of `module` that is no namespace package, and so belongs to one distribution;
    `module` itself if all are. Raises `ImportError` if a name up to there is not found; later names are not looked up."""
    for name in accumulate(module.split("."), "{}.{}".format):
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if spec.origin is not None:
            return name
    return module


def _tools_of(point: EntryPoint) -> Iterator[Tool]:
    try:
        found = point.load()
    except AttributeError as error:
        raise Refused.from_error(f"{point.value} is not there, or its import fails", error) from None
    except BaseException as error:  # the package's code may raise anything, even SystemExit
        raise Refused.from_error(f"the import of {point.value} fails", error) from None
    for each in found if isinstance(found, list | tuple) else (found,):
        if not isinstance(each, Tool):
            what = type(each).__name__
            raise Refused(f"{point.value} holds a {what}: it has to be a tools.contract.Tool or a list of them")
        yield each


def _compile(tool: Tool, package: Package, compile_tool: Compile) -> Registered:
    try:
        return compile_tool(tool, package.version, package.name)
    except ToolRefused as error:
        raise Refused(str(error)) from None
    except Exception as error:
        raise Refused.from_error(f"{tool.name!s:.80}: it cannot be compiled", error) from None
