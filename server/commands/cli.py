"""The command line: settings, log, and one of the commands. Exit status 2 is a wrong setting or argument."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
from collections.abc import Sequence

from server.commands.errors import print_error
from server.commands.table import COMMANDS, SERVE
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.config.unknown import unknown_settings
from server.telemetry.log.setup import log_to_stderr
from server.version import VERSION

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
