from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import ToolContext
from tools.primitives.completions import complete_title
from tools.primitives.resource import Message, Prompt, PromptArgument
from tools.prompts.wording import LANGUAGE, NO_STOCK, Step, describe_task, read_language, read_number, read_text, shorten
from tools.skills.text import Saying

MOST_VOLUMES = 998
FOUND = "<title_id of step 1>"

OPENING = Saying("A customer wants to read on in a series.", "お客様がシリーズの続きを読みたがっています。")
TITLE, LAST = Saying("series", "シリーズ"), Saying("last volume read", "最後に読んだ巻")

SEARCH = Saying(
    "Call {search_manga_catalog}; if several titles could be meant, ask which. Arguments:",
    "{search_manga_catalog}を呼び、候補が複数あればどれか尋ねる。引数:",
)
NO_SEARCH = Saying(
    "Say that titles cannot be looked up just now, and tell nothing of the series from memory.",
    "今は作品を調べられないと伝え、記憶からは何も答えない。",
)
VOLUME = Saying("Call {find_volumes} with:", "{find_volumes}を次の引数で呼ぶ:")
NEXT = Saying(
    "Call {find_volumes}: next follows the last volume that a signed-in customer bought here. If it tells the next release "
    "instead, ask which volume was read last. Arguments:",
    "{find_volumes}を呼ぶ。nextはサインイン済みのお客様が当店で買った最後の巻の次。次の新刊が返ったら、最後に読んだ巻を尋ねる。引数:",
)
CHECK = Saying(
    "Call {check_inventory}: is that volume among missing_volumes or upcoming? Arguments:",
    "{check_inventory}を呼び、その巻がmissing_volumesやupcomingにないか見る。引数:",
)
TELL = Saying(
    "Tell its price, format and stock; if it is not there, when it comes out or comes back, and in which format it can be "
    "had now. If there is none (NOT_FOUND), say that the series has ended, or that no further volume is announced.",
    "価格、形式、在庫を伝える。なければ発売日か入荷日と、今買える形式も。続きの巻がなければ(NOT_FOUND)、完結したのか未定なのかを伝える。",
)
AFTER = Saying(
    "After the last volume offer {get_recommendations} for what to read next, with the series as criteria.",
    "最終巻の後なら、シリーズ名をcriteriaにして{get_recommendations}で次の作品を勧める。",
)


async def go_on(context: ToolContext, given: Mapping[str, str]) -> Sequence[Message]:
    language, title = read_language(given), read_text(given, "title")
    last = read_number(given, "last_volume", 0, MOST_VOLUMES)
    volume = {"title_id": FOUND, "volume": "next" if last is None else str(last + 1)}
    steps = (
        (Step(SEARCH, {"query": shorten(title), "max_results": 3}), Step(NO_SEARCH)),
        (Step(NEXT if last is None else VOLUME, volume), Step(CHECK, {"title_ids": [FOUND]}), Step(NO_STOCK)),
        (Step(TELL),),
        (Step(AFTER),),
    )
    said = {TITLE: title, LAST: "" if last is None else str(last)}
    return [describe_task(context, language, OPENING, said, steps, ("data", "stock", "prices", "fixed"))]


PROMPT = Prompt(
    name="continue_a_series",
    title="Continue a series",
    description="Steps to find the next volume of a series: whether it is out, in stock, and what it costs.",
    handler=go_on,
    arguments=(
        PromptArgument("title", "The series, in any script.", required=True, completer=complete_title),
        PromptArgument("last_volume", "The number of the volume read last; 0 for none yet."),
        LANGUAGE,
    ),
)
