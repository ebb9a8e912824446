"""A package as it is installed now: imported, and its tools compiled. All of it, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint

from server.packages.imports import FreshImports, root_of
from server.packages.installed import Package
from server.packages.refusal import Refused
from tools.contract import Tool
from tools.registry import Registered, ToolRefused

MOST_TOOLS = 50
"""Of one package. Each is read by every model in every turn."""
Made = Callable[[Tool, str, str], Registered]
"""(tool, version, package) to what can be registered."""


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
        _one_version(package)
        imports.begin(_roots(package, others))
        tools = [each for point in package.entry_points for each in _tools_of(point)]
        _not_too_many(tools)
        _each_name_once(tools)
        return Loaded(package, [_made(tool, package, made) for tool in tools], imports)
    except Refused:
        imports.undo()
        raise
    except BaseException as error:  # a list, a name: whatever is touched may be the package's own code
        imports.undo()
        raise Refused.by("its tools cannot be read", error) from None
    finally:
        imports.end()


def _one_version(package: Package) -> None:
    if package.also:
        versions = ", ".join((package.version, *package.also))
        raise Refused(f"the metadata of versions {versions} are in one folder: remove all but the last (dist-info)")


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
    found = _loaded(point)
    several = found if isinstance(found, list | tuple) else (found,)
    for each in several:
        if not isinstance(each, Tool):
            what = type(each).__name__
            raise Refused(f"{point.value} holds a {what}: it has to be a tools.contract.Tool or a list of them")
        yield each


def _loaded(point: EntryPoint) -> object:
    try:
        return point.load()
    except AttributeError as error:
        raise Refused.by(f"{point.value} is not there, or its import fails", error) from None
    except BaseException as error:  # whatever the code of others does, SystemExit among it
        raise Refused.by(f"the import of {point.value} fails", error) from None


def _not_too_many(tools: Sequence[Tool]) -> None:
    if len(tools) > MOST_TOOLS:
        raise Refused(f"it brings {len(tools)} tools: a package may have {MOST_TOOLS}")


def _each_name_once(tools: Sequence[Tool]) -> None:
    names = [tool.name for tool in tools]
    if twice := [name for name in names if names.count(name) > 1]:
        raise Refused(f"two of its tools are called {twice[0]!s:.80}: give one of them another name")


def _made(tool: Tool, package: Package, made: Made) -> Registered:
    try:
        return made(tool, package.version, package.name)
    except ToolRefused as error:
        raise Refused(str(error)) from None
    except Exception as error:
        raise Refused.by(f"{tool.name!s:.80}: it cannot be compiled", error) from None
