"""Resolves the titles that a call is about: those it names, those of a result_set, or those shown last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.contract import Json, ToolContext
from tools.schema.parts import argument, join_notes
from tools.store.failures import InvalidArguments, NotFound, Violation
from tools.store.identifiers import TITLE_ID


def title_ids(most: int) -> Json:
    """Builds the schema of an argument `title_ids` with at most `most` ids."""
    ids = {"type": "string", "pattern": TITLE_ID}
    return argument("array", "Default: the titles shown last.", items=ids, maxItems=most)


def single_title(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the title_id and title of the only title in the rows. Returns "" for both if there are several titles, and {}
    without rows."""
    titles = {str(row["title_id"]): str(row.get("title") or "") for row in rows if row.get("title_id")}
    if len(titles) > 1:
        return {"title_id": "", "title": ""}
    return {name: value for title in titles.items() for name, value in zip(("title_id", "title"), title, strict=True)}


TITLE_IDS, NAMED_SET = "title_ids", "result_set"
NO_SUCH_IDS = "not_found has ids that this store does not sell. If one is a name, find its id with search_manga_catalog."
NOTHING_TO_CHECK = Violation(
    "$.title_ids",
    "required",
    "nothing was shown in this conversation that this could refer to",
    "pass title_ids, or a result_set, or call search_manga_catalog first",
)


@dataclass(frozen=True, slots=True)
class TitleReference:
    """The title ids that a call is about. `source`: the argument or earlier result with these ids; `query`: the query of the
    list shown last, None for another source. `ids` is empty if that result was empty."""

    ids: tuple[str, ...]
    source: str
    query: str | None = None

    def answer(self, items: list[Json], not_found: Iterable[str] = (), unanswered: Iterable[str] = ()) -> Json:
        told: Json = {"items": items, "not_found": list(not_found), "unanswered": list(unanswered), "checked": self.source}
        if self.query is not None:
            told["checked_query"] = self.query
        return told | join_notes(NO_SUCH_IDS if told["not_found"] else None if self.ids else self._describe_nothing())

    def as_note(self) -> str:
        """Returns a note on the source of the ids; "" if the call named them."""
        if not self.ids:
            return self._describe_nothing()
        return "" if self.source == TITLE_IDS else f"No title was named: these are of the {self._earlier}."

    def _describe_nothing(self) -> str:
        nothing = "There is nothing in that result_set" if self.source == NAMED_SET else f"The {self._earlier} found nothing"
        return f"{nothing}, so there is nothing to check. Search again in other words, or pass title_ids."

    @property
    def _earlier(self) -> str:
        return self.source.replace("_", " ") + (f" ({self.query})" if self.query else "")


NO_TITLE = Violation(
    "$.title_id",
    "required",
    "no title is named, and the conversation is not about a single one",
    "pass the title_id of one title; search_manga_catalog finds it",
)


def resolve_title(context: ToolContext, asked: Json, otherwise: Violation = NO_TITLE) -> tuple[str, str]:
    """Returns (title_id, note): the title of the arguments with an empty note, else the title shown last with a note that
    says so. Raises `InvalidArguments` with the violation `otherwise` if there is no single title shown last."""
    if "title_id" in asked:
        return str(asked["title_id"]), ""
    title_id, title = context.shared.get("title_id"), context.shared.get("title")
    if not title_id:
        raise InvalidArguments([otherwise])
    return title_id, f"No title was named: this is of {title or title_id}, which was looked at last."


def resolve_titles(context: ToolContext, asked: Json) -> TitleReference:
    """Returns the titles that a call is about; `ids` is empty if it refers to an empty result. Raises `InvalidArguments` if
    it names none and nothing was shown before, and `NotFound` for an unknown or expired result_set."""
    if asked.get(TITLE_IDS):
        return TitleReference(tuple(dict.fromkeys(asked[TITLE_IDS])), TITLE_IDS)
    if NAMED_SET in asked:
        if context.result_set is None:
            raise NotFound("That result_set is not known or has expired. Search again, or pass title_ids.")
        return TitleReference(context.result_set, NAMED_SET)
    if (last := context.last) is not None:
        return TitleReference(last.title_ids, f"last_{last.by}", last.query)
    if title_id := context.shared.get("title_id"):
        return TitleReference((title_id,), "last_title")
    raise InvalidArguments([NOTHING_TO_CHECK])


def check_one_reference(asked: Json) -> list[Violation]:
    if asked.get(TITLE_IDS) and NAMED_SET in asked:
        return [Violation("$", "not", "title_ids and result_set were both given", "give one of the two")]
    return []
