"""In which language a prompt is written. The customer is answered in their own, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import ToolContext
from tools.primitives.prompt import PromptArgument
from tools.prompts.saying import Language
from tools.store.failures import InvalidArguments, Violation

LANGUAGES: Mapping[str, Language] = {
    "en": "en", "english": "en", "英語": "en",
    "ja": "ja", "jp": "ja", "japanese": "ja", "日本語": "ja",
}  # fmt: skip
PROPOSED: Sequence[Language] = ("en", "ja")


async def complete_language(context: ToolContext, typed: str, others: Mapping[str, str]) -> Sequence[str]:
    """Proposes both, or the one that goes on as typed."""
    return [each for each in PROPOSED if each.startswith(typed.strip().casefold())]


def language_of(given: Mapping[str, str]) -> Language:
    """English where nothing is said; of a tag such as ja-JP its first part counts. Raises `InvalidArguments`."""
    said = given.get("language", "").strip().casefold()
    if not said:
        return "en"
    if found := LANGUAGES.get(said.replace("_", "-").partition("-")[0]):
        return found
    raise InvalidArguments([Violation("$.language", "enum", "prompts are written in two languages", "use en or ja")])


LANGUAGE = PromptArgument("language", "Of this prompt: en (default) or ja.", completer=complete_language)
