"""Several processes serving one port (MANGA_WORKERS): a supervisor, which loads the shared data and forks the workers, and
the workers, to which it passes the accepted connections."""
