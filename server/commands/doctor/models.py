"""How the models are asked: the encoder for a vector of one word, the classifier for the labels of one short text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeVar

from server.backends import open_classifier, open_embedder
from server.config.parsing import SettingError
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import OK, Check, Diagnosis, Problem, always
from tools.store.failures import BackendFailure, InternalFailure, TimedOut
from tools.store.models import CatalogTerms
from tools.store.ports import Embedder

T = TypeVar("T")
TEXT, TERMS = "A boy sails the sea to become king of the pirates.", CatalogTerms({"Adventure": 1, "Romance": 1}, {})


async def opened_embedder(settings: Settings, stack: AsyncExitStack) -> tuple[Embedder | None, Check]:
    """Opens it if it can be opened; the check tells why not."""
    embedder, why = await _opened(open_embedder(settings, stack))
    if why is not None:
        return None, always(why)
    if embedder is None:
        return None, always(Diagnosis(OK, "none: search is by words alone"))
    well = Diagnosis(OK, f"{embedder.name}, {embedder.dimensions} dimensions")
    slow = "wait if the machine is busy; else look at its quotas"
    return embedder, _asked(
        lambda deadline: embedder.embed(["漫画"], deadline), well, slow, partial(_embedder_problem, settings)
    )


async def classifier_check(settings: Settings, stack: AsyncExitStack) -> Check:
    """Of a model elsewhere. Opens it if it can be opened; the check tells why not."""
    classifier, why = await _opened(open_classifier(settings, stack))
    if classifier is None:
        assert why is not None
        return always(why)
    well, slow = Diagnosis(OK, f"{settings.classifier} labels texts"), "look at its quotas, or take a faster model"
    return _asked(lambda deadline: classifier.classify(TEXT, TERMS, deadline), well, slow, _classifier_problem)


async def _opened(opening: Awaitable[T]) -> tuple[T | None, Diagnosis | None]:
    try:
        return await opening, None
    except SettingError as error:
        what, _, remedy = str(error).partition(": ")
        return None, Diagnosis.of(Problem(f"{what} cannot be used", remedy))


def _asked(
    ask: Callable[[Deadline], Awaitable[Any]],
    well: Diagnosis,
    slow: str,
    problem: Callable[[BackendFailure | InternalFailure], Problem],
) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        try:
            await ask(deadline.less(0.1))
        except TimedOut:
            return Diagnosis.of(Problem("it does not answer", slow))
        except (BackendFailure, InternalFailure) as failure:
            return Diagnosis.of(problem(failure))
        return well

    return check


def _embedder_problem(settings: Settings, failure: BackendFailure | InternalFailure) -> Problem:
    if settings.embedder == "local" or isinstance(failure, InternalFailure):
        return Problem(failure.message, "install the locked requirements again, or set MANGA_EMBEDDER=none")
    from tools.store.backends.aws_failures import bedrock_problem

    return bedrock_problem(failure)


def _classifier_problem(failure: BackendFailure | InternalFailure) -> Problem:
    if isinstance(failure, InternalFailure):
        raise failure
    from tools.store.backends.aws_failures import CLASSIFIER, bedrock_problem

    return bedrock_problem(failure, CLASSIFIER)
