"""The standby catalogue: a compact replica in this process, used while the search engine is down or slow.

`infra.seed` packs and publishes a bundle (`bundle.py`, `s3.py`). `replica.py` loads the newest valid bundle and
builds a store on it. `opening.py` is the entry point; with MANGA_STANDBY=off only it and `bundle.py` are imported."""
