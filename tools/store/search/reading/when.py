"""What every wording of a time shares: a spell of years, verbs of publication, and what tells a story's own time apart."""

from __future__ import annotations

from tools.store.models import Range

Spell = tuple[int, int, Range]
"""Years, and the span of a text that says them."""
SETTING = "".join(
    rf"(?<!{verb} )(?<!{verb} in )(?<!{verb} in the )" for verb in ("set", "place", "during", "living", "about")
)
"""Comes before no time that a story is set in."""
MADE = (
    r"(?:(?:(?:that |which )?(?:was |were |is )?(?:first )?(?:published|released|started|began|begun|serialized"
    r"|serialised|launched|made|drawn|written|came out) )?"
)
YEAR = r"(?:19|20)[0-9]{2}(?![0-9]|巻|円)"
JA_MADE = (
    r"(?:に?(?:連載開始(?:した|された)?|連載を?始めた|始まった|連載が始まった|発表された|出版された|発売された"
    r"|刊行された|連載(?:された|していた)?))?"
)
JA_SETTING = r"(?!(?:の[^ ]{0,8})?(?:を舞台|が舞台|舞台))"
