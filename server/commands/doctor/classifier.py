"""How a model that labels texts is asked: for the labels of one short text."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.backends import open_classifier
from server.commands.doctor.check import Check, always
from server.config.parsing import SettingError
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import OK, Diagnosis, Problem
from tools.store.failures import BackendFailure, TimedOut
from tools.store.models import CatalogTerms
from tools.store.ports import Classifier

TEXT, TERMS = "A boy sails the sea to become king of the pirates.", CatalogTerms({"Adventure": 1, "Romance": 1}, {})


async def classifier_check(settings: Settings, stack: AsyncExitStack) -> Check:
    """Of a model elsewhere. Opens it if it can be opened; the check tells why not."""
    try:
        classifier = await open_classifier(settings, stack)
    except SettingError as error:
        what, _, remedy = str(error).partition(": ")
        return always(Diagnosis.of(Problem(f"{what} cannot be used", remedy)))
    assert classifier is not None
    return _asked(classifier, settings.classifier)


def _asked(classifier: Classifier, name: str) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        try:
            await classifier.classify(TEXT, TERMS, deadline.less(0.1))
        except TimedOut:
            return Diagnosis.of(Problem("it does not answer", "look at its quotas, or take a faster model"))
        except BackendFailure as failure:
            from tools.store.backends.bedrock.diagnosis import CLASSIFIER, problem_of

            return Diagnosis.of(problem_of(failure, CLASSIFIER))
        return Diagnosis(OK, f"{name} labels texts")

    return check
