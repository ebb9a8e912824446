"""`python -m server`."""

from server.cli import main
from server.readers import while_read

if __name__ == "__main__":
    raise SystemExit(while_read(main))
