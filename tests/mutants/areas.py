"""What is mutated: the code whose faults customers would meet first."""

from __future__ import annotations

from pathlib import Path

AREAS: dict[str, tuple[str, ...]] = {
    "session": ("session/*.py", "session/redis/*.py"),
    "stages": ("server/pipeline.py", "server/call.py", "server/stages/*.py"),
    "identity": ("server/identity/*.py", "server/identity/jwt/*.py"),
    "validation": (
        "tools/schema/validation.py",
        "tools/schema/text.py",
        "tools/schema/validation.py",
        "tools/schema/validation.py",
        "tools/schema/parts.py",
        "tools/schema/text.py",
    ),
    "resilience": ("tools/store/guarded.py", "session/resilience/*.py"),
    "search": (
        "tools/store/search/*.py",
        "tools/store/search/*/*.py",
        "tools/store/backends/embedded/lexical/*.py",
        "tools/store/backends/embedded/meaning/*.py",
        "tools/store/backends/embedded/searching/*.py",
    ),
}


def modules(root: Path, area: str) -> list[Path]:
    """Paths below `root`, in order. An area that is empty is a mistake here."""
    found = sorted({path for pattern in AREAS[area] for path in root.glob(pattern) if path.name != "__init__.py"})
    if not found:
        raise LookupError(f"no module is of the area {area!r}")
    return found
