from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import ToolContext
from tools.primitives.completions import complete_order_id
from tools.primitives.resource import Message, Prompt, PromptArgument
from tools.prompts.wording import LANGUAGE, Step, describe_task, read_language
from tools.skills.text import Saying, rules
from tools.store.failures import InvalidArguments, Violation

TOOL = "lookup_order"

OPENING = Saying("A customer asks where an order is.", "お客様が注文の状況を尋ねています。")
NUMBER = Saying("order number", "注文番号")

THIS = Saying("Call {lookup_order} with:", "{lookup_order}を次の引数で呼ぶ:")
NO_ORDERS = Saying(
    "Say that orders cannot be looked up here just now, and that the store's site shows them under 'My orders'.",
    "今はここで注文を調べられないと伝え、サイトの「注文履歴」を案内する。",
)


async def track(context: ToolContext, given: Mapping[str, str]) -> Sequence[Message]:
    language, number = read_language(given), _number(context, given)
    sign_in, all_of_them, tell = rules()["parcels"].sayings
    steps: Sequence[Sequence[Step]] = ((Step(sign_in),),)
    if context.user is not None:
        look_up = Step(THIS, {"order_id": number}) if number else Step(all_of_them)
        steps = ((look_up, Step(NO_ORDERS)), (Step(tell),))
    minds = ("data", "private", "failures", "plain")
    return [describe_task(context, language, OPENING, {NUMBER: number}, steps, minds)]


def _number(context: ToolContext, given: Mapping[str, str]) -> str:
    """Returns the order number in the shop's format; "" if none is given. Raises `InvalidArguments` for any other text."""
    orders = context.store.identifiers.orders
    number = orders.normalise(given.get("order_id", "").strip())
    if number and not orders.matches(number):
        fix = f"give it as the shop writes it, such as {orders.example}, or leave it out for the latest orders"
        raise InvalidArguments([Violation("$.order_id", "pattern", "this is not an order number", fix)])
    return number


async def complete_own(context: ToolContext, typed: str, others: Mapping[str, str]) -> Sequence[str]:
    """Returns the customer's own order numbers that contain the text; [] if the caller may not use `lookup_order`."""
    return await complete_order_id(context, typed, others) if context.may_use(TOOL) else []


PROMPT = Prompt(
    name="track_my_order",
    title="Track my order",
    description="Steps to tell a signed-in customer where an order is and when it comes.",
    handler=track,
    arguments=(
        PromptArgument("order_id", "Such as MNG-DEMO1001; left out: the latest.", completer=complete_own),
        LANGUAGE,
    ),
    scope=f"mcp:manga-tools:{TOOL}",
    personal=True,
)
