"""Several processes that serve one port (MANGA_WORKERS). The supervisor loads shared data, forks the workers, and passes
accepted connections to them."""
