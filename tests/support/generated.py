"""Values that an output schema admits, drawn by hypothesis, in texts as a shop has them: English, Japanese, emoji, very long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from server.config.settings import DEMO

Json = dict[str, Any]
FORMS = {
    "title_id": "manga-001001", "title_ids": "manga-001001", "missing": "manga-001001", "not_found": "manga-001001",
    "unanswered": "manga-001001", "order_id": "MNG-DEMO1001", "result_set": "rs_dck35hvwyifnham5", "today": "2026-11-23",
    "as_of": "2026-11-23T09:00:00+09:00", "release_date": "2026-12-04", "isbn": "978-4-08-882495-2", "date": "2026-12-04",
    "tracking_number": "4012-3456-7890", "status": "delivered", "format": "physical", "ordered_at": "2026-11-01T12:00:00+09:00",
}  # fmt: skip
"""What identifies things has a form of its own, whatever its schema says."""
_CATALOGUE = [json.loads(line) for line in (DEMO / "catalog.jsonl").read_text("utf-8").splitlines()]
_ENGLISH = [word for record in _CATALOGUE for word in record["synopsis"]["en"].split()]
_JAPANESE = "".join(record["synopsis"]["ja"] for record in _CATALOGUE)
_EMOJI = "🔥😀⚔️🎌👩‍🚀❤️✨🐉"


@st.composite
def texts(draw: st.DrawFn) -> str:
    length, start = draw(st.sampled_from([0, 1, 3, 8, 40, 120, 700])), draw(st.integers(0, 10_000))
    match draw(st.sampled_from(["english", "japanese", "japanese", "emoji"])):
        case "english":
            return " ".join(_ENGLISH[start % len(_ENGLISH) :][:length])
        case "japanese":
            return _JAPANESE[start % len(_JAPANESE) :][: 4 * length]
        case _:
            return (_EMOJI * (1 + length // 4))[: length // 2]


def successes(output_schema: Mapping[str, Any]) -> st.SearchStrategy[Json]:
    """All that is required, and any of the rest."""
    required = output_schema["anyOf"][0]["required"]
    properties = {name: each for name, each in output_schema["properties"].items() if name not in ("error", "truncated")}
    return _objects(properties, required)


def _objects(properties: Mapping[str, Any], required: list[str]) -> st.SearchStrategy[Json]:
    values = {name: _values(each, name) for name, each in properties.items()}
    must = {name: value for name, value in values.items() if name in required}
    return st.fixed_dictionaries(must, optional={name: value for name, value in values.items() if name not in required})


def _values(rule: Mapping[str, Any], name: str) -> st.SearchStrategy[Any]:
    if "anyOf" in rule:
        return st.one_of(*(_values(each, name) for each in rule["anyOf"]))
    if "enum" in rule:
        return st.sampled_from(rule["enum"])
    match rule.get("type"):
        case "string":
            return st.just(FORMS[name]) if name in FORMS else texts()
        case "integer":
            return st.integers(0, 10**7)
        case "number":
            return st.floats(0, 5).map(lambda each: round(each, 2))
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            few = _values(rule["items"], name)
            return st.integers(0, 20).flatmap(lambda many: few.map(lambda each: [each] * many)) | st.lists(few, max_size=3)
        case _:
            return (
                _objects(rule["properties"], rule.get("required", []))
                if "properties" in rule
                else st.just({"en": "a", "ja": "日"})
            )
