"""Advice for operators: what to do about each failure, and about each dependency that is not well."""

from __future__ import annotations

RUNBOOKS = "infra/RUNBOOKS.md"
DOCTOR = "`python -m server doctor` asks it again and says why."


def _advise(text: str, alarm: str = "") -> str:
    """Returns the text with the address of the alarm's runbook."""
    return f"{text} {RUNBOOKS}#{alarm.lower()}" if alarm else text


FAILURES = {
    "VALIDATION_ERROR": "The model's arguments break the tool's schema. Nothing to mend here, unless one tool gets many: "
    "look at its description. The log names path and rule of each.",
    "TOOL_NOT_FOUND": "A tool was called that is switched off. See the flags, and whether the agent keeps an old list.",
    "NOT_FOUND": "An order or a title that there is not. Many of them: is the catalogue or the orders' table the right one?",
    "FORBIDDEN": "A token, a scope or a stated user was refused. Many of them: did a secret or an issuer's key change?",
    "INPUT_REQUIRED": "No error: the client was asked for more, and calls again.",
    "RATE_LIMITED": _advise(
        "One caller asks more than 10 times a second. Look for an agent that repeats itself.", "MangaRefusesMany"
    ),
    "SERVER_BUSY": _advise("More calls at once than MANGA_MAX_CONCURRENT_CALLS: add tasks.", "MangaUnusableBurn"),
    "DEPENDENCY_FAILURE": _advise(
        f"A backend refused or broke off: the breakers and dependencies on this page say which. {DOCTOR}", "MangaBackendLost"
    ),
    "TIMEOUT": _advise("A backend was too slow: the waterfalls show which attempt waited. Look at its load.", "MangaSlow"),
    "CIRCUIT_OPEN": _advise(
        "A backend is left alone after failures: the breakers on this page say which, and why. It is tried again by itself.",
        "MangaBackendLost",
    ),
    "BUDGET_EXHAUSTED": _advise(
        "The turn's time was over before this call began: see what took it in the turn's other calls.", "MangaUnusableBurn"
    ),
    "INTERNAL_ERROR": _advise(
        "A fault in this server: the log has it with its trace, by the call's id.", "MangaInternalErrors"
    ),
}
"""Advice for each failure, by the name in its envelope."""
UNKNOWN_FAILURE = _advise("A name that this version does not know: look into the log.", "MangaCallsFail")
_LOST = {
    "catalog": ("The standby catalogue answers where there is one; else searches fall back to popular titles.", "Lost"),
    "titles": ("Details come from the catalogue alone.", "Impaired"),
    "stock": ("Availability is last known.", "Lost"),
    "releases": ("Volumes and their dates are missing.", "Impaired"),
    "orders": ("Orders cannot be shown: there is no fallback.", "Lost"),
    "profile": ("Recommendations do not know their reader.", "Impaired"),
    "pages": ("There are no previews.", "Impaired"),
    "classifier": ("Genres of texts are not told.", "Impaired"),
    "embedder": ("Searches go by words alone.", "Impaired"),
}
DEPENDENCIES = {name: _advise(f"{text} {DOCTOR}", f"MangaBackend{alarm}") for name, (text, alarm) in _LOST.items()} | {
    "redis": _advise(f"Each process goes on with what it knows by itself. {DOCTOR}", "MangaRedisAway"),
    "background": _advise(
        "A task beside the calls has died and is begun again; the log says why.", "MangaBackgroundTaskDies"
    ),
    "packages": "A package's tools were not loaded: `python -m server tools` says why.",
    "flags": _advise("The flags stay as they were read last: mend the document or its source.", "MangaFlagsLag"),
    "standby": _advise(
        "If search fails now, the standby catalogue is missing or old: has the seed run?", "MangaReplicaLags"
    ),
}
