"""What the shop's things are called by: one rule each, for what is loaded, what is asked for and what is answered."""

from __future__ import annotations

import re

GENRES = ("shonen", "seinen", "shojo", "josei", "kodomo")
"""The readerships."""
AUDIENCES = ("all_ages", "teen", "older_teen", "adult")
"""For whom a title is fit, the youngest first."""
TITLE_ID = "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"
"""Whatever the catalogue calls its titles, as far as it is safe in keys, lists and addresses."""
ORDER_ID = "^MNG-[A-Z0-9]{8}$"
"""As the shop writes it."""
MONTH = "^[0-9-]{7}$"
"""YYYY-MM, as far as a pattern can tell; `tools.store.japan` knows the calendar."""
NO_PART_OF_IT = re.compile("[ #_\\-\u2010-\u2015\u2212\u30fc]")
"""What people put before and between: spaces, number signs, dashes and what looks like one on a Japanese keyboard."""
SAID = re.compile("MNG[A-Z0-9]{8}|(?=.*[0-9])[A-Z0-9]{8}")
"""Eight letters alone are rather words."""


def order_number(text: str) -> str:
    """The number as the shop writes it, however it was said: "mng demo1001", "DEMO1001", "#MNG‐DEMO1001". Anything else
    stays as it is."""
    bare = NO_PART_OF_IT.sub("", text).upper()
    return f"MNG-{bare[-8:]}" if SAID.fullmatch(bare) else text
