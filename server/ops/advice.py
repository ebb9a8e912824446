"""Advice for operators: what to do about each failure, and about each dependency that is not well."""

from __future__ import annotations

RUNBOOKS = "infra/RUNBOOKS.md"
DOCTOR = "`python -m server doctor` asks it again and says why."


def _runbook(alarm: str) -> str:
    return f" {RUNBOOKS}#{alarm.lower()}"


FAILURES = {
    "VALIDATION_ERROR": "The model's arguments break the tool's schema. Nothing to mend here, unless one tool gets many: "
    "look at its description. The log names path and rule of each.",
    "TOOL_NOT_FOUND": "A tool was called that is switched off. See the flags, and whether the agent keeps an old list.",
    "NOT_FOUND": "An order or a title that there is not. Many of them: is the catalogue or the orders' table the right one?",
    "FORBIDDEN": "A token, a scope or a stated user was refused. Many of them: did a secret or an issuer's key change?",
    "INPUT_REQUIRED": "No error: the client was asked for more, and calls again.",
    "RATE_LIMITED": "One caller asks more than 10 times a second. Look for an agent that repeats itself."
    + _runbook("MangaRefusesMany"),
    "SERVER_BUSY": "More calls at once than MANGA_MAX_CONCURRENT_CALLS: add tasks." + _runbook("MangaUnusableBurn"),
    "DEPENDENCY_FAILURE": "A backend refused or broke off: the breakers and dependencies on this page say which. "
    + DOCTOR
    + _runbook("MangaBackendLost"),
    "TIMEOUT": "A backend was too slow: the waterfalls show which attempt waited. Look at its load." + _runbook("MangaSlow"),
    "CIRCUIT_OPEN": "A backend is left alone after failures: the breakers on this page say which, and why. It is "
    "tried again by itself." + _runbook("MangaBackendLost"),
    "BUDGET_EXHAUSTED": "The turn's time was over before this call began: see what took it in the turn's other calls."
    + _runbook("MangaUnusableBurn"),
    "INTERNAL_ERROR": "A fault in this server: the log has it with its trace, by the call's id."
    + _runbook("MangaInternalErrors"),
}
"""By the name that a client is told."""
UNKNOWN_FAILURE = "A name that this version does not know: look into the log." + _runbook("MangaCallsFail")
DEPENDENCIES = {
    "catalog": "The standby catalogue answers where there is one; else searches fall back to popular titles. "
    + DOCTOR
    + _runbook("MangaBackendLost"),
    "titles": "Details come from the catalogue alone. " + DOCTOR + _runbook("MangaBackendImpaired"),
    "stock": "Availability is last known. " + DOCTOR + _runbook("MangaBackendLost"),
    "releases": "Volumes and their dates are missing. " + DOCTOR + _runbook("MangaBackendImpaired"),
    "orders": "Orders cannot be shown: there is no fallback. " + DOCTOR + _runbook("MangaBackendLost"),
    "profile": "Recommendations do not know their reader. " + DOCTOR + _runbook("MangaBackendImpaired"),
    "pages": "There are no previews. " + DOCTOR + _runbook("MangaBackendImpaired"),
    "redis": "Each process goes on with what it knows by itself. " + DOCTOR + _runbook("MangaRedisAway"),
    "classifier": "Genres of texts are not told. " + DOCTOR + _runbook("MangaBackendImpaired"),
    "embedder": "Searches go by words alone. " + DOCTOR + _runbook("MangaBackendImpaired"),
    "background": "A task beside the calls has died and is begun again; the log says why."
    + _runbook("MangaBackgroundTaskDies"),
    "packages": "A package's tools were not loaded: `python -m server tools` says why.",
    "flags": "The flags stay as they were read last: mend the document or its source." + _runbook("MangaFlagsLag"),
    "standby": "If search fails now, the standby catalogue is missing or old: has the seed run?"
    + _runbook("MangaReplicaLags"),
}


def failure_advice(name: str) -> str:
    return FAILURES.get(name, UNKNOWN_FAILURE)


def dependency_advice(name: str) -> str:
    return DEPENDENCIES.get(name, DOCTOR)
