"""The commands: serve (the default), stdio, call, doctor, forget. Exit status 2 is a wrong setting or argument."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from server.commands.errors import print_error
from server.commands.progress import progress_bar
from server.config.parsing import SettingError, user_id
from server.config.settings import Settings
from server.config.unknown import unknown_settings
from server.telemetry.log.filter import RepeatFilter
from server.version import VERSION

OWN_LOGGERS = ("server", "session", "tools", "infra", "manga")


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ)
    except SettingError as error:
        return print_error(str(error))
    _log_to_stderr(settings.log_level)
    for name, meant in unknown_settings(os.environ).items():
        hint = f"; did you mean {meant}?" if meant else ""
        logging.getLogger(__name__).warning("%s is no setting of this server and is ignored%s", name, hint)
    try:
        return asyncio.run(_command(asked, settings))
    except KeyboardInterrupt:
        return 0
    except Exception as error:  # what a wrong file says of itself is for the person who started this
        if isinstance(error, ValueError) and type(error).__module__.startswith(("server.", "tools.")):
            return print_error(str(error))
        raise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m server", description="MCP tools of a Japanese manga store.")
    parser.add_argument("--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="command", metavar="serve|stdio|call|doctor|forget")
    serve = commands.add_parser("serve", help="serve HTTP: SSE at /sse, Streamable HTTP at /mcp (the default)")
    serve.add_argument("--with-parent", action="store_true", help="stop when the parent process ends (Linux)")
    stdio = commands.add_parser("stdio", help="serve one client over stdin and stdout")
    stdio.add_argument("--user", metavar="ID", help="the customer, where the client can state none (or MANGA_USER)")
    call = commands.add_parser("call", help="call one tool and print its result")
    call.add_argument("tool")
    call.add_argument("arguments", nargs="?", default="{}", help="a JSON object")
    call.add_argument("--user", help="the customer on whose behalf to call")
    doctor = commands.add_parser("doctor", help="check every dependency and say what to do")
    doctor.add_argument("--json", action="store_true", help="the same for programs")
    forget = commands.add_parser("forget", help="remove what is remembered of a customer beyond a conversation")
    forget.add_argument("--user", required=True, metavar="ID", help="the customer, as the agent states them")
    return parser


async def _command(asked: argparse.Namespace, settings: Settings) -> int:
    """Imports only what the command needs: the SDK alone takes a second. Raises `SettingError`."""
    if settings.user and asked.command not in ("stdio", "doctor"):
        raise SettingError("MANGA_USER is for stdio alone, whose parent is trusted; elsewhere each request states its user")
    match asked.command:
        case "stdio":
            from server.commands.serve_stdio import serve_stdio

            await serve_stdio(_of_user(settings, asked.user) if asked.user else settings)
        case "call":
            from server.commands.call import call_once

            return await call_once(settings, asked.tool, asked.arguments, asked.user)
        case "doctor":
            from server.commands.doctor import examine

            return await examine(settings, as_json=asked.json)
        case "forget":
            from server.commands.forget import forget_user

            return await forget_user(settings, asked.user)
        case _:
            from server.commands.serve import end_with_parent, serve

            if getattr(asked, "with_parent", False):
                end_with_parent()
            await serve(settings, progress_bar(sys.stderr))
    return 0


def _of_user(settings: Settings, user: str) -> Settings:
    try:
        return replace(settings, user=user_id(user))
    except SettingError as error:
        raise SettingError(f"--user: {error}") from None


def _log_to_stderr(level: str) -> None:
    """stdout belongs to the protocol in stdio mode, and to results in the others.

    The level is for this server's own loggers, which say nothing of a customer. Libraries write down what they are given,
    order numbers and customers' words included, so of them only warnings are shown, whatever the level."""
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True)
    logging.root.handlers[0].addFilter(RepeatFilter())
    logging.root.setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    for name in OWN_LOGGERS:
        logging.getLogger(name).setLevel(level.upper())
    logging.getLogger("mcp.server.sse").setLevel(logging.CRITICAL)  # it logs a malformed body as an error, with its content
