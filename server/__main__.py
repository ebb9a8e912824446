"""`python -m server`."""

from server.commands.cli import main, while_read
from server.telemetry.log_output import never_wait_for_stderr

if __name__ == "__main__":
    never_wait_for_stderr()
    raise SystemExit(while_read(main))
