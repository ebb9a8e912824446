"""The standby catalogue: a compact replica in this process for when the search engine is away or slow.

`infra.seed` packs it into a bundle and publishes it (`bundle.py`, `s3.py`). `replica.py` keeps the newest
valid one; `second.py` is the store over it. `opening.py` is the entry, and alone is imported where MANGA_STANDBY is off."""
