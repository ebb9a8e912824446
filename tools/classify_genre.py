from __future__ import annotations

from collections.abc import Mapping

from tools.contract import TEXT, Fallback, Json, Tool, ToolContext
from tools.results import shortening as worth
from tools.schema.parts import STRING, answer, argument, arguments, join_notes, list_of, nullable
from tools.store.classification import evidence_weight, is_explicit
from tools.store.models import Classification

MOST_TAGS, LEAST_CONFIDENCE, SURE, ENOUGH_TOLD = 8, 0.25, 0.5, 0.7

INPUT = arguments(
    {"text": argument("string", "A blurb, synopsis or description, in any language.", minLength=1, maxLength=2000)},
    required=["text"],
)


def _labels(name: str) -> Json:
    return list_of({"type": "object", "properties": {name: STRING, "confidence": {"type": "number"}}})


OUTPUT = answer(
    {
        "readership": nullable("string", "The likeliest."),
        "readerships": _labels("name"),
        "tags": _labels("tag"),
        "by": {**STRING, "description": "local or bedrock."},
    },
    required=["readerships", "tags"],
)

NOTHING_TOLD = "This text does not say what kind of manga it is. Ask the customer for more of the story."
UNSURE = "The readership is a guess: say so, or ask. Search by the tags rather than by the readership."
FEW_WORDS = "So few words tell little of a story: these are guesses. Ask the customer for more of it."
ADULT = "The text speaks of content for adults, which no readership stands for: do not offer a readership in its place."
WORDS_ALONE = "The text could not be compared with titles: this goes by what it names in so many words, and misses the rest."


async def classify(context: ToolContext, asked: Json) -> Json:
    found = await context.store.classifying.classify(asked["text"], context.deadline)
    return _present_result(context, found, asked["text"])


async def locally(context: ToolContext, asked: Json) -> Json:
    """Fallback: returns the cached local classification of the text, else one by keywords alone. Calls no backend."""
    found = await context.store.classifying.fall_back(asked["text"])
    if context.store.classifying.remote is not None:
        context.degraded.add("bedrock")
    return _present_result(context, found, asked["text"])


def _present_result(context: ToolContext, found: Classification, text: str) -> Json:
    context.degraded |= set(found.degraded)
    readerships = _list_labels("name", found.readerships)
    likely = {tag: confidence for tag, confidence in found.tags.items() if confidence >= LEAST_CONFIDENCE}
    tags = _list_labels("tag", likely)[:MOST_TAGS]
    best = next(iter(found.readerships), None)
    result: Json = {"readership": best, "readerships": readerships, "tags": tags, "by": found.by}
    return result | join_notes(*_notes(found, tags, text))


def _list_labels(name: str, confidences: Mapping[str, float]) -> list[Json]:
    return [{name: label, "confidence": round(confidence, 2)} for label, confidence in confidences.items()]


def _notes(found: Classification, tags: list[Json], text: str) -> list[str]:
    best = max(found.readerships.values(), default=0.0)
    nothing, short = not tags and best < SURE and not found.words_alone, evidence_weight(text) < ENOUGH_TOLD
    notes = {
        NOTHING_TOLD: nothing,
        WORDS_ALONE: found.words_alone,
        FEW_WORDS: short and not nothing,
        UNSURE: 0 < best < SURE and not nothing and not short,
        ADULT: is_explicit(text),
    }
    return [note for note, holds in notes.items() if holds]


def summary(result: Json) -> str:
    return f"{result.get('readership') or 'no readership'}, {len(result['tags'])} tags"


TOOL = Tool(
    name="classify_genre",
    title="Classify a description",
    description="Tells which readership and tags a text fits, likeliest first, with confidences of 0 to 1. Call it to label "
    "a blurb; to find titles for a description call search_manga_catalog.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=classify,
    timeout_ms=1500,
    cache=TEXT,
    fallback=Fallback("local_classifier", locally),
    summary=summary,
    words=("text",),
    sheds=worth.GENRES,
    instead="Pass the description to search_manga_catalog as it is: it understands descriptions.",
)
