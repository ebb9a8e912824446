"""The commands: what each is called, takes and does. Each imports only what it needs: the SDK alone takes a second."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from server.commands.errors import progress_bar
from server.config.parsing import SettingError, user_id
from server.config.settings import Settings

SERVE = "serve"


@dataclass(frozen=True, slots=True)
class Command:
    """`run` returns the exit status. `of_user` tells that it may go by MANGA_USER; `as_workers` runs it in several
    processes, without a loop of its own."""

    about: str
    run: Callable[[Namespace, Settings], Coroutine[Any, Any, int]]
    arguments: Callable[[ArgumentParser], None] = lambda parser: None
    of_user: bool = False
    as_workers: Callable[[Namespace, Settings], int] | None = None


async def _serve(asked: Namespace, settings: Settings) -> int:
    from server.commands.serve import end_with_parent, serve

    if getattr(asked, "with_parent", False):
        end_with_parent()
    await serve(settings, progress_bar(sys.stderr))
    return 0


def _serve_as_workers(asked: Namespace, settings: Settings) -> int:
    from server.commands.serve import end_with_parent
    from server.commands.workers.supervise import supervise

    if getattr(asked, "with_parent", False):
        end_with_parent()
    return supervise(settings, progress_bar(sys.stderr))


def _serve_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--with-parent", action="store_true", help="stop when the parent process ends (Linux)")


async def _stdio(asked: Namespace, settings: Settings) -> int:
    from server.commands.serve import serve_stdio

    try:
        own = replace(settings, user=user_id(asked.user)) if asked.user else settings
    except SettingError as error:
        raise SettingError(f"--user: {error}") from None
    await serve_stdio(own)
    return 0


def _stdio_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--user", metavar="ID", help="the customer, where the client can state none (or MANGA_USER)")


async def _call(asked: Namespace, settings: Settings) -> int:
    from server.commands.tools import call_once

    return await call_once(settings, asked.tool, asked.arguments, asked.user)


def _call_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tool")
    parser.add_argument("arguments", nargs="?", default="{}", help="a JSON object")
    parser.add_argument("--user", help="the customer on whose behalf to call")


async def _doctor(asked: Namespace, settings: Settings) -> int:
    from server.commands.doctor import examine

    return await examine(settings, as_json=asked.json)


async def _flags(asked: Namespace, settings: Settings) -> int:
    from server.commands.flags import Asked, show_flags

    who = Asked(asked.user, asked.session, asked.client, asked.scope)
    return await show_flags(settings, who, as_json=asked.json)


def _flags_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--user", metavar="ID", help="the customer; without one, somebody who is not signed in")
    parser.add_argument(
        "--session", metavar="ID", help="the session, by which a share is decided where there is no customer"
    )
    parser.add_argument("--client", metavar="ID", help="the client of the token (MANGA_AUTH=jwt)")
    parser.add_argument(
        "--scope", metavar="SCOPE", action="append", default=[], help="a scope of the token; may be repeated"
    )
    _json_argument(parser)


async def _tools(asked: Namespace, settings: Settings) -> int:
    if asked.action:
        from server.commands.tools import reload_tools

        return await reload_tools(settings, as_json=asked.json)
    from server.commands.tools import show_tools

    return await show_tools(settings, as_json=asked.json)


def _tools_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["reload"], help="have the server that runs load its packages anew")
    _json_argument(parser)


async def _forget(asked: Namespace, settings: Settings) -> int:
    from server.commands.forget import forget_user

    return await forget_user(settings, asked.user)


def _forget_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--user", required=True, metavar="ID", help="the customer, as the agent states them")


async def _schema(asked: Namespace, settings: Settings) -> int:
    from tools.store.records.schemas import schema_of

    print(json.dumps(schema_of(asked.file), ensure_ascii=False, indent=2))
    return 0


def _schema_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", choices=["catalog", "volumes", "orders"], help="the file whose lines it describes")


def _json_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the same for programs")


COMMANDS: Mapping[str, Command] = {
    SERVE: Command(
        "serve HTTP: SSE at /sse, Streamable HTTP at /mcp (the default)",
        _serve,
        _serve_arguments,
        as_workers=_serve_as_workers,
    ),
    "stdio": Command("serve one client over stdin and stdout", _stdio, _stdio_arguments, of_user=True),
    "call": Command("call one tool and print its result", _call, _call_arguments),
    "doctor": Command("check every dependency and say what to do", _doctor, _json_argument, of_user=True),
    "flags": Command("show for a customer which tools are on, and why", _flags, _flags_arguments),
    "tools": Command("show the tools and their schemas, or have packages' tools loaded anew", _tools, _tools_arguments),
    "schema": Command("print the JSON Schema of a line of a file of your own", _schema, _schema_arguments),
    "forget": Command("remove what is remembered of a customer beyond a conversation", _forget, _forget_arguments),
}
