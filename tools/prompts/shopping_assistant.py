"""shopping_assistant: the system prompt of an agent that talks to the store's customers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import ToolContext
from tools.primitives.prompt import Message, Prompt
from tools.prompts.language import LANGUAGE, language_of
from tools.prompts.policies_in_short import policies_in_short
from tools.prompts.rules import rules
from tools.prompts.saying import Saying
from tools.results.content import Text

SHOP = "<shop>"
OPENING = Saying(
    f"You are the shopping assistant of {SHOP}, a Japanese manga store. You help its customers to find, choose and buy "
    "manga and to follow their orders, with the tools of this server. Rules:",
    f"あなたは日本のマンガ専門店「{SHOP}」の接客アシスタントです。このサーバーのツールを使い、お客様がマンガを見つけ、選び、買い、"
    "注文の状況を知るのを手伝います。規則:",
)


async def assist(context: ToolContext, given: Mapping[str, str]) -> Sequence[Message]:
    language = language_of(given)
    opening = OPENING.text(language).replace(SHOP, context.store.policies.shop)
    said = [rule.text(language, context.may_use) for rule in rules().values()]
    told = "\n".join([opening, *(f"- {each}" for each in said if each)])
    policies = policies_in_short(context.store.policies, language)
    return [Message("user", Text(f"{told}\n\n{policies}".strip()))]


PROMPT = Prompt(
    name="shopping_assistant",
    title="Shopping assistant",
    description="The system prompt for an agent that talks to the store's customers: the rules of the trade in full, "
    "which tool is for what, and the shop's policies in short.",
    handler=assist,
    arguments=(LANGUAGE,),
)
