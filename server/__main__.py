"""`python -m server`."""

from server.cli import main
from server.readers import while_read
from server.telemetry.stderr import never_wait_for_stderr

if __name__ == "__main__":
    never_wait_for_stderr()
    raise SystemExit(while_read(main))
