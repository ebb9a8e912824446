"""What is mutated: the code whose faults customers would meet first."""

from __future__ import annotations

from pathlib import Path

AREAS: dict[str, tuple[str, ...]] = {
    "session": ("session/*.py", "session/redis/*.py"),
    "stages": ("server/pipeline.py", "server/call.py", "server/stages/*.py"),
    "identity": ("server/identity/*.py", "server/identity/jwt/*.py"),
    "validation": ("tools/schema/validation.py", "tools/schema/text.py", "tools/schema/parts.py"),
    "resilience": ("tools/store/guarded.py", "session/resilience/*.py"),
    "search": (
        "tools/store/search/*.py",
        "tools/store/search/*/*.py",
        "tools/conditions/*.py",
        "tools/store/backends/embedded/*.py",
    ),
    "transport": ("server/transport/*.py", "server/transport/http/*.py", "server/transport/websocket/*.py"),
    "relay": ("server/transport/relay/*.py",),
    "flags": ("server/flags/*.py",),
    "standby": ("server/standby/*.py",),
    "preferences": ("tools/store/preferences.py", "tools/preferences/*.py", "tools/remember_preference.py"),
    "packages": ("server/packages/*.py",),
    "ops": ("server/ops/*.py", "tools/cards/*.py"),
}


def modules(root: Path, area: str) -> list[Path]:
    """Paths below `root`, in order. An area that is empty is a mistake here."""
    found = sorted({path for pattern in AREAS[area] for path in root.glob(pattern) if path.name != "__init__.py"})
    if not found:
        raise LookupError(f"no module is of the area {area!r}")
    return found
