"""Several processes that serve one port (MANGA_WORKERS): a supervisor, which loads what they share and forks them, and the
workers, to which it hands the connections."""
