"""A standby catalogue: a compact replica of the catalogue in this process, asked when the search engine is away or slow.

`infra.seed` makes it as one file, a bundle (`bundle.py`), and puts it where servers fetch it from (`places`). `replica.py`
keeps the newest that is whole, `second.py` is the store over it that the ladder's rung answers from. The way in is
`opening.py`; nothing here is imported but for that where MANGA_STANDBY is off.
"""
