"""What a reload came to, package by package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

NONE_INSTALLED = "no package that is installed brings tools (entry point group manga_tools.tools)"


@dataclass(frozen=True, slots=True)
class PackageReport:
    """The names of tools that are new, of those that another version took the place of, and of those that are gone; or why
    it was `refused`. `stays` is the version that goes on then."""

    package: str
    version: str
    loaded: Sequence[str] = ()
    replaced: Sequence[str] = ()
    withdrawn: Sequence[str] = ()
    refused: str | None = None
    stays: str | None = None

    def __str__(self) -> str:
        if self.refused is not None:
            stays = f"; version {self.stays} stays" if self.stays is not None else ""
            return f"{self.package} {self.version}: refused: {self.refused}{stays}"
        done = {"loaded": self.loaded, "replaced": self.replaced, "withdrawn": self.withdrawn}
        told = "; ".join(f"{what} {', '.join(names)}" for what, names in done.items() if names)
        return f"{self.package} {self.version}: {told or 'brings no tools'}"


@dataclass(frozen=True, slots=True)
class Report:
    """`problem` is why nothing could be looked at."""

    packages: Sequence[PackageReport] = field(default_factory=tuple)
    problem: str | None = None

    @property
    def well(self) -> bool:
        return self.problem is None and not self.refused

    @property
    def refused(self) -> list[PackageReport]:
        return [each for each in self.packages if each.refused is not None]

    def __str__(self) -> str:
        return self.problem or "\n".join(map(str, self.packages)) or NONE_INSTALLED

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> Report:
        return cls([PackageReport(**each) for each in value["packages"]], value["problem"])
