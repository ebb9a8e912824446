"""What the shop's things are called by: one rule each, for what is loaded, what is asked for and what is answered."""

from __future__ import annotations

GENRES = ("shonen", "seinen", "shojo", "josei", "kodomo")
"""The readerships."""
TITLE_ID = "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"
"""Whatever the catalogue calls its titles, as far as it is safe in keys, lists and addresses."""
ORDER_ID = "^MNG-[A-Z0-9]{8}$"
"""As the shop writes it."""
