"""`python -m server`."""

from server.commands.broken_pipe import while_read
from server.commands.cli import main
from server.telemetry.log.stderr import never_wait_for_stderr

if __name__ == "__main__":
    never_wait_for_stderr()
    raise SystemExit(while_read(main))
