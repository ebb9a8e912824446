from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tools.contract import Json, ToolContext
from tools.primitives.completions import complete_author, complete_genre, complete_tag
from tools.primitives.resource import Message, Prompt, PromptArgument
from tools.prompts.wording import (
    LANGUAGE,
    LONGEST_QUOTATION,
    NO_STOCK,
    Step,
    describe_task,
    read_amount,
    read_language,
    read_number,
    read_text,
    shorten,
)
from tools.skills.text import Language, Saying, rules

OLDEST = 120
MOST_BUDGET = 1_000_000
MOST_DISLIKES = 20
LONGEST_DISLIKE = 200
FIT_BELOW = ((13, "all_ages"), (16, "teen"), (18, "older_teen"))
"""(age limit in years, audience): readers below the limit get this audience at most."""
TASTES = (complete_tag, complete_genre, complete_author)
BETWEEN = re.compile("[,、;\n]")

OPENING = Saying("A customer looks for a gift.", "お客様が贈り物を探しています。")
FOR_WHOM, LIKES = Saying("for whom", "贈る相手"), Saying("they like", "好きなもの")
DISLIKES = Saying("they do not like", "苦手なもの")
AGE, BUDGET = Saying("age", "年齢"), Saying("budget", "予算")
ANYTHING = Saying("popular manga", "人気の漫画")

SEARCH = Saying("Call {search_manga_catalog} with:", "{search_manga_catalog}を次の引数で呼ぶ:")
RECOMMEND = Saying("Call {get_recommendations} with:", "{get_recommendations}を次の引数で呼ぶ:")
NO_SEARCH = Saying(
    "Say that titles cannot be looked up just now, and name none from memory.",
    "今は作品を調べられないと伝え、記憶から作品名を挙げない。",
)


async def find(context: ToolContext, given: Mapping[str, str]) -> Sequence[Message]:
    language, currency = read_language(given), context.store.currency
    age, budget = read_number(given, "age", 0, OLDEST), read_amount(given, "budget", MOST_BUDGET, currency)
    said = {
        FOR_WHOM: read_text(given, "for_whom"),
        AGE: "" if age is None else str(age),
        BUDGET: "" if budget is None else currency.say(budget, language),
        LIKES: given.get("likes", ""),
        DISLIKES: given.get("dislikes", ""),
    }
    wish = _wish(given, age, language) | currency.show({} if budget is None else {"max_price_jpy": budget})
    ask, check, offer = rules()["gift"].sayings
    steps = (
        () if given.get("likes", "").strip() else (Step(ask),),
        (Step(SEARCH, wish), Step(RECOMMEND, _as_criteria(wish)), Step(NO_SEARCH)),
        (Step(check), Step(NO_STOCK)),
        (Step(offer),),
    )
    return [describe_task(context, language, OPENING, said, steps, ("data", "not_had", "stock", "prices"))]


def _wish(given: Mapping[str, str], age: int | None, language: Language) -> Json:
    """Converts the prompt's arguments, except the budget, to arguments of `search_manga_catalog`."""
    likes = shorten(given.get("likes", ""))
    wish: Json = {"query": likes or ANYTHING.text(language), "in_stock": True}
    if audience := next((fit for below, fit in FIT_BELOW if age is not None and age < below), None):
        wish["audience"] = audience
    dislikes = (" ".join(each.split()) for each in BETWEEN.split(given.get("dislikes", "")[:LONGEST_QUOTATION]))
    if without := [each[:LONGEST_DISLIKE] for each in dislikes if each]:
        wish["without"] = without[:MOST_DISLIKES]
    return wish


def _as_criteria(wish: Json) -> Json:
    return {"criteria": wish["query"], **{name: value for name, value in wish.items() if name != "query"}}


async def complete_taste(context: ToolContext, typed: str, others: Mapping[str, str]) -> Sequence[str]:
    """Completes the part of the text after the last comma with tags and readerships, then authors. Returns whole texts."""
    before, comma, last = typed.rpartition(",")
    proposed = [each for complete in TASTES for each in await complete(context, last, others)]
    return [f"{before}{comma} {each}".lstrip() for each in dict.fromkeys(proposed)]


PROMPT = Prompt(
    name="find_a_gift",
    title="Find a gift",
    description="Steps to find manga as a gift: fit for the age, within the budget, in stock.",
    handler=find,
    arguments=(
        PromptArgument("for_whom", "Who gets it, such as: my niece.", required=True),
        PromptArgument("age", "Theirs, in years."),
        PromptArgument("budget", "For one volume, in the shop's currency."),
        PromptArgument("likes", "What they like to read, in plain words.", completer=complete_taste),
        PromptArgument("dislikes", "What it must not have, with commas between.", completer=complete_taste),
        LANGUAGE,
    ),
)
