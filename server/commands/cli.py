"""The command line: settings, log, and one of the commands. Exit status 2 is a wrong setting or argument."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence

from server.commands.errors import print_error
from server.commands.table import COMMANDS, SERVE
from server.config.parsing import SettingError
from server.config.settings import Settings, unknown_settings
from server.telemetry.log_output import log_to_stderr
from server.version import VERSION

BROKEN_PIPE = 128 + signal.SIGPIPE
"""The status that a shell gives to what SIGPIPE ends. The signal itself stays off, or a lost connection would be the end."""


def while_read(main: Callable[[], int]) -> int:
    """Returns the status of a command; ends it quietly when whoever read its output has left."""
    try:
        try:
            return main()
        finally:  # SystemExit of argparse included: what is still in the buffer is written now or never
            sys.stdout.flush()
    except BrokenPipeError:
        if not _left_by_its_reader(sys.stdout.fileno()):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the interpreter, which flushes again
        return BROKEN_PIPE


def _left_by_its_reader(pipe: int) -> bool:
    watched = select.poll()
    watched.register(pipe, 0)
    return bool(watched.poll(0))


OPENTELEMETRY = {
    "OTEL_PROPAGATORS": "tracecontext,baggage",
    "OTEL_PYTHON_CONTEXT": "contextvars_context",
    "OTEL_PYTHON_TRACER_PROVIDER": "default_tracer_provider",
}
"""It looks for these when it is imported or first used, and one that is not in this server would stop the start. Some set
others for all that they run; W3C's headers are read and written, and spans made, here without it."""


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ)
    except SettingError as error:
        return print_error(str(error))
    log_to_stderr(settings.log_level)
    for name, meant in unknown_settings(os.environ).items():
        hint = f"; did you mean {meant}?" if meant else ""
        logging.getLogger(__name__).warning("%s is no setting of this server and is ignored%s", name, hint)
    os.environ.update(OPENTELEMETRY)
    try:
        return _run(asked, settings)
    except KeyboardInterrupt:
        return 0
    except Exception as error:  # what a wrong file says of itself is for the person who started this
        if isinstance(error, ValueError) and type(error).__module__.startswith(("server.", "tools.")):
            return print_error(str(error))
        raise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m server", description="MCP tools of a Japanese manga store.")
    parser.add_argument("--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="command", metavar="|".join(COMMANDS))
    for name, command in COMMANDS.items():
        command.arguments(commands.add_parser(name, help=command.about))
    return parser


def _run(asked: argparse.Namespace, settings: Settings) -> int:
    """Raises `SettingError`."""
    command = COMMANDS[asked.command or SERVE]
    if settings.user and not command.of_user:
        raise SettingError("MANGA_USER is for stdio alone, whose parent is trusted; elsewhere each request states its user")
    if command.as_workers is not None and settings.workers > 1:
        return command.as_workers(asked, settings)
    return asyncio.run(command.run(asked, settings))
