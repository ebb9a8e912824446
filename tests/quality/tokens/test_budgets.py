"""Whatever a tool answers, however little may be read of it: what is sent is what its schemas say, and within its tokens by
real tokenizers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from server.call import Call, Outcome, RequestMetadata
from server.results import call_tool_result, compact
from server.stages.shorten import ShortenStage
from server.transport.tool_listing import outline
from session.begin import result_set_name
from tests.quality.tokens.results import ENGLISH, JAPANESE, Given, results
from tests.support.generated import FORMS, successes
from tests.support.tokenizers import Tokenizers, tokenizers
from tools.registry import Registered, Registry
from tools.results.shortening import estimate, shorten
from tools.store.failures import BudgetExhausted

Json = dict[str, Any]
REGISTERED = {each.tool.name: each for each in Registry().all()}
SCHEMAS = {
    name: [Draft202012Validator(schema) for schema in (each.tool.output_schema, outline(each.tool.output_schema))]
    for name, each in REGISTERED.items()
}
BUDGETS = st.integers(200, 3000)
ODD = 1.25
"""Most tokens for each estimated one of a made-up answer that repeats one phrase, and with it the error of its estimate."""


def quickly(examples: int) -> settings:
    checks = list(HealthCheck)
    return settings(derandomize=True, deadline=None, database=None, max_examples=examples, suppress_health_check=checks)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokenizers]:
    with tokenizers(tmp_path_factory.mktemp("tokenizers") / "log") as each:
        yield each


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[Given]:
    folder = tmp_path_factory.mktemp("shop")
    return [each for language in (ENGLISH, JAPANESE) for each in asyncio.run(results(language, folder))]


def sent(registered: Registered, value: Json, tokens: int, session: str | None = "s") -> Json:
    """The result of a call whose tool answered with this value, to a reader of so many tokens."""
    asked = {"query": "x", "criteria": "x"}
    call = Call("0123456789abcdef0123456789abcdef", registered, asked, RequestMetadata(), 0.0, session=session)

    async def answered(_: Call) -> Outcome:
        return Outcome(value)

    async def run() -> Json:
        return call_tool_result(call, await ShortenStage(None, tokens)(call, answered))  # type: ignore[arg-type]

    return asyncio.run(run())


def judge(registered: Registered, value: Json, tokens: int, counted: Tokenizers, odd: float = 1.0) -> Json:
    """Fails unless the answer is within `tokens` by the estimate and, up to the factor `odd`, by every tokenizer."""
    before = json.dumps(value)
    try:
        result = sent(registered, value, tokens)
    except BudgetExhausted:  # an error, which every schema admits
        least = shorten(value, (*registered.sheds, "note"), 0).value
        assert estimate(compact(least | {"truncated": True})) > tokens - 20, "there would have been something to say"
        return {}
    told, text = result["structuredContent"], result["content"][0]["text"]
    assert text == compact(told)
    assert estimate(text) <= tokens
    assert counted.most(text) <= odd * tokens
    for schema in SCHEMAS[registered.tool.name]:
        schema.validate(told)
    assert json.dumps(value) == before, "what is cached was changed"
    return told


@quickly(100)
@given(data=st.data())
def test_any_real_result_fits_any_budget(data: st.DataObject, answers: list[Given], counted: Tokenizers) -> None:
    answer = data.draw(st.sampled_from(range(len(answers))).map(lambda n: answers[n]))
    told = judge(REGISTERED[answer.tool], answer.value, data.draw(BUDGETS), counted)
    assert told, "nothing real is too long"
    tool = REGISTERED[answer.tool].tool
    assert tool.summary(told)
    assert tool.shown is None or tool.shown({"query": "x", "criteria": "x"}, told)


@pytest.mark.parametrize("name", list(REGISTERED))
def test_any_result_that_a_schema_admits_fits_any_budget(name: str, counted: Tokenizers) -> None:
    registered = REGISTERED[name]

    @quickly(25)
    @given(value=successes(registered.tool.output_schema), tokens=BUDGETS)
    def fits(value: Json, tokens: int) -> None:
        judge(registered, value, tokens, counted, ODD)

    fits()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("get_recommendations", {"recommendations": [], "relaxed": ["at most five volumes"] * 60}),
        ("search_manga_catalog", {"results": [], "total": 0, "nearly": [{"title_id": "manga-1", "title": "Berserk"}] * 30}),
    ],
)
def test_result_set_and_offset_stay_when_another_list_is_cut(name: str, value: Json) -> None:
    whole = value | {"result_set": result_set_name([])}
    told = sent(REGISTERED[name], whole, 300)["structuredContent"]
    assert told["truncated"]
    assert (told["result_set"], told.get("next_offset")) == (whole["result_set"], None)


def test_repeated_phrase_fits_by_the_estimate(counted: Tokenizers) -> None:
    for many in range(1, 40):
        phrases = ["Monkey D. Luffy, a boy whose body turned"] * many
        value = {"recommendations": [], "result_set": FORMS["result_set"], "based_on": phrases}
        judge(REGISTERED["get_recommendations"], value, 200, counted, ODD)


def test_no_emoji_counts_for_less_than_it_takes(counted: Tokenizers) -> None:
    """Of what one is made of, tokenizers that do not know it take each byte by itself."""
    for text in ("🔥😀⚔️🎌👩\u200d🚀❤️✨🐉" * 20, "⚔️" * 100, "❤️ " * 100, "✨☂★♪" * 50, "👩\u200d🚀" * 50):
        assert counted.most(text) <= estimate(text), text[:10]


def test_twenty_titles_in_japanese_fit_and_still_say_what_a_customer_buys_by(
    answers: list[Given], counted: Tokenizers
) -> None:
    of_search = [each for each in answers if each.language == JAPANESE and each.tool == "search_manga_catalog"]
    twenty = [each for each in of_search if len(each.value["results"]) == 20]
    assert twenty
    for each in twenty:
        assert counted.most(each.text) > 2000, "there is something to shorten"
        told = judge(REGISTERED[each.tool], each.value, 2000, counted)
        assert len(told["results"]) == 20
        assert all(row.keys() >= {"title_id", "title", "price_jpy", "in_stock", "author"} for row in told["results"])
