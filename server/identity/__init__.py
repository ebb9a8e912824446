"""Identification of callers: one `Identifier` for each value of MANGA_AUTH; that for jwt is imported only if configured."""
