"""What is mutated: the code whose faults customers would meet first."""

from __future__ import annotations

from pathlib import Path

AREAS: dict[str, tuple[str, ...]] = {
    "session": ("session/*.py", "session/backends/*.py"),
    "stages": ("server/pipeline.py", "server/call.py", "server/stages/*.py"),
    "identity": ("server/stated.py", "server/bearer.py", "server/identity/*.py"),
    "validation": ("tools/validation.py", "tools/shapes.py", "tools/schemas.py", "tools/text.py"),
    "resilience": ("tools/resilience/*.py", "session/breaker.py"),
    "search": ("tools/search/*.py", "tools/backends/embedded/*leg*.py", "tools/backends/embedded/engine.py"),
}


def modules(root: Path, area: str) -> list[Path]:
    """Paths below `root`, in order. An area that is empty is a mistake here."""
    found = sorted({path for pattern in AREAS[area] for path in root.glob(pattern) if path.name != "__init__.py"})
    if not found:
        raise LookupError(f"no module is of the area {area!r}")
    return found
