"""Whether there is a processor for each worker."""

from __future__ import annotations

import os

from server.commands.doctor.check import Check, always
from server.config.settings import Settings
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis


def workers_check(settings: Settings) -> dict[str, tuple[str, Check]]:
    """Says nothing of a process by itself."""
    if settings.workers == 1:
        return {}
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = Diagnosis(OK, f"on {processors} processors")
    if processors < settings.workers:
        remedy = f"set MANGA_WORKERS to {processors} at most, or give the task more"
        found = Diagnosis(DEGRADED, f"they share {processors} processors, and wait for one another", remedy)
    return {"workers": (str(settings.workers), always(found))}
