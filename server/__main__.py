"""Runs the command line, for `python -m server`."""

from server.commands.cli import exit_on_broken_pipe, main
from server.telemetry.log_output import never_wait_for_stderr

if __name__ == "__main__":
    never_wait_for_stderr()
    raise SystemExit(exit_on_broken_pipe(main))
