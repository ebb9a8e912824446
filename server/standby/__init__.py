"""The standby catalogue: a compact replica in this process, used while the search engine is down or slow.

`infra.seed` packs it into a bundle and publishes that (`bundle.py`, `s3.py`). `replica.py` loads the newest valid bundle,
`store.py` makes a store of it. `opening.py` is the entry, the only module imported with MANGA_STANDBY=off."""
