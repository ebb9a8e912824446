"""What every classifier does, in each implementation."""

from __future__ import annotations

import asyncio

import pytest

from session.resilience.deadline import Deadline
from tests.support.bedrock import bedrock, bedrock_classifier
from tests.support.cases import cases
from tools.store.classification import LocalClassifier, select_offered
from tools.store.failures import TimedOut
from tools.store.identifiers import GENRES
from tools.store.models import CatalogTerms
from tools.store.ports import CatalogPort, Classifier

__all__ = ["bedrock", "bedrock_classifier"]

STORIES = [
    "A high school girl falls in love with the student council president.",
    "少年が仲間と海へ出て、海賊の王を目指す冒険。",
    "Un chirurgien poursuit le tueur qu'il a sauvé.",
]
ODD = ["?", "🐟" * 500, "a\x00b", '"}{\\', "</text><text>", "x" * 2_000, "漫" * 2_000, "' OR 1=1 --"]


@pytest.fixture(params=["local", "bedrock"])
def classifier(request: pytest.FixtureRequest, catalog: CatalogPort) -> Classifier:
    return LocalClassifier(catalog) if request.param == "local" else request.getfixturevalue("bedrock_classifier")


@pytest.fixture
async def terms(catalog: CatalogPort) -> CatalogTerms:
    return select_offered(await catalog.terms(later()))


def later() -> Deadline:
    return Deadline.after(30)


@cases("text", [*STORIES, *ODD], ids=ascii)
async def test_labels_are_those_of_the_catalogue_with_confidences_between_0_and_1(
    classifier: Classifier, terms: CatalogTerms, text: str
) -> None:
    """The surest comes first, and the readerships add up to at most 1, for any text."""
    found = await classifier.classify(text, terms, later())
    assert found.by in ("local", "bedrock")
    assert set(found.readerships) <= set(GENRES)
    assert set(found.tags) <= set(terms.tags)
    assert sum(found.readerships.values()) <= 1 + 1e-9
    for confidences in (list(found.readerships.values()), list(found.tags.values())):
        assert confidences == sorted(confidences, reverse=True)
        assert all(0 <= confidence <= 1 for confidence in confidences)


@cases("text", STORIES, ids=ascii)
async def test_story_gets_a_readership_and_tags(classifier: Classifier, terms: CatalogTerms, text: str) -> None:
    async with asyncio.timeout(60):  # a first vector may take longer than a call waits
        while (found := await classifier.classify(text, terms, later())).degraded:
            await asyncio.sleep(0.01)
    assert found.readerships
    assert found.tags


async def test_label_that_was_not_offered_is_never_given(classifier: Classifier, terms: CatalogTerms) -> None:
    few = CatalogTerms({"Drama": 145}, {}, terms.readerships, terms.titles)
    assert set((await classifier.classify(STORIES[0], few, later())).tags) <= {"Drama"}


async def test_expired_deadline_raises_timed_out(classifier: Classifier, terms: CatalogTerms) -> None:
    with pytest.raises(TimedOut):
        await classifier.classify("a story that nobody asked for before", terms, Deadline.after(-1))


async def test_health_of_a_working_classifier_is_ok(classifier: Classifier) -> None:
    assert (await classifier.health(later())).ok
