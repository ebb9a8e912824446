"""How the encoder is asked, for a vector of one word."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.backends import open_embedder
from server.commands.doctor.check import Check, always
from server.config.parsing import SettingError
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import OK, Diagnosis, Problem
from tools.store.failures import BackendFailure, InternalFailure, TimedOut
from tools.store.ports import Embedder


async def opened_embedder(settings: Settings, stack: AsyncExitStack) -> tuple[Embedder | None, Check]:
    """Opens it if it can be opened; the check tells why not."""
    try:
        embedder = await open_embedder(settings, stack)
    except SettingError as error:
        what, _, remedy = str(error).partition(": ")
        return None, always(Diagnosis.of(Problem(f"{what} cannot be used", remedy)))
    if embedder is None:
        return None, always(Diagnosis(OK, "none: search is by words alone"))
    return embedder, _embedder_check(settings, embedder)


def _embedder_check(settings: Settings, embedder: Embedder) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        try:
            await embedder.embed(["漫画"], deadline.less(0.1))
        except TimedOut:
            return Diagnosis.of(Problem("it does not answer", "wait if the machine is busy; else look at its quotas"))
        except (BackendFailure, InternalFailure) as failure:
            return Diagnosis.of(_embedder_problem(settings, failure))
        return Diagnosis(OK, f"{embedder.name}, {embedder.dimensions} dimensions")

    return check


def _embedder_problem(settings: Settings, failure: BackendFailure | InternalFailure) -> Problem:
    if settings.embedder == "local" or isinstance(failure, InternalFailure):
        return Problem(failure.message, "install the locked requirements again, or set MANGA_EMBEDDER=none")
    from tools.store.backends.bedrock.diagnosis import problem_of

    return problem_of(failure)
