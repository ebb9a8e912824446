"""The command line: reads settings, starts the log, and runs a command. Exit status 2 means a wrong setting or argument.

Each command imports its modules only when it runs, since the MCP SDK alone takes a second to import."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib import import_module

from server.commands.errors import is_user_error, print_error, progress_bar
from server.config.parsing import SettingError
from server.config.settings import Settings, warn_of_unknown_settings
from server.telemetry.log_output import log_to_stderr
from server.version import VERSION

BROKEN_PIPE = 128 + signal.SIGPIPE
"""A shell's exit status for a process ended by SIGPIPE. SIGPIPE itself is ignored: lost connections would end the server."""
OPENTELEMETRY = {
    "OTEL_PROPAGATORS": "tracecontext,baggage",
    "OTEL_PYTHON_CONTEXT": "contextvars_context",
    "OTEL_PYTHON_TRACER_PROVIDER": "default_tracer_provider",
}
"""Variables that OpenTelemetry reads at its import. With the name of a package not installed here, the start would fail."""
SERVE = "serve.serve"


def exit_on_broken_pipe(main: Callable[[], int]) -> int:
    """Returns the status of `main`, or `BROKEN_PIPE` if the reader of stdout has closed the pipe."""
    try:
        try:
            return main()
        finally:  # also after argparse's SystemExit: writes the rest of the buffer
            sys.stdout.flush()
    except BrokenPipeError:
        stdout = select.poll()
        stdout.register(sys.stdout.fileno(), 0)
        if not stdout.poll(0):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes again at exit
        return BROKEN_PIPE


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ)
    except SettingError as error:
        return print_error(str(error))
    log_to_stderr(settings.log_level)
    warn_of_unknown_settings(os.environ)
    os.environ |= OPENTELEMETRY
    try:
        return _run(asked, settings)
    except KeyboardInterrupt:
        return 0
    except Exception as error:
        if is_user_error(error):
            return print_error(str(error))
        raise


def _run(asked: Namespace, settings: Settings) -> int:
    """Runs the command's function, such as "tools.call_once" in this package, and returns the exit status. The parsed
    arguments become the function's keyword arguments."""
    arguments = dict(vars(asked))
    module, _, function = arguments.pop("run").partition(".")
    command = import_module(f"server.commands.{module}")
    if arguments.pop("with_parent"):
        command.end_with_parent()
    if asked.run == SERVE and settings.workers > 1:
        from server.commands.workers.supervise import supervise

        return supervise(settings, progress_bar(sys.stderr))
    return asyncio.run(getattr(command, function)(settings, **arguments)) or 0  # servers return None


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m server", description="MCP tools of a Japanese manga store.")
    parser.add_argument("--version", action="version", version=VERSION)
    parser.set_defaults(run=SERVE, with_parent=False)
    commands = parser.add_subparsers(metavar="COMMAND")

    def add(name: str, run: str, about: str) -> ArgumentParser:
        command = commands.add_parser(name, help=about)
        command.set_defaults(run=run)
        return command

    serve = add("serve", SERVE, "serve HTTP: SSE at /sse, Streamable HTTP at /mcp (the default)")
    serve.add_argument("--with-parent", action="store_true", help="stop when the parent process ends (Linux)")
    stdio = add("stdio", "serve.serve_stdio", "serve one client over stdin and stdout")
    stdio.add_argument("--user", metavar="ID", help="the customer, where the client can state none")
    call = add("call", "tools.call_once", "call one tool and print its result")
    call.add_argument("tool")
    call.add_argument("arguments", nargs="?", default="{}", help="a JSON object")
    call.add_argument("--user", help="the customer on whose behalf to call")
    doctor = add("doctor", "doctor.examine", "check every dependency and say what to do")
    flags = add("flags", "tools.show_flags", "show for a customer which tools are on, and why")
    flags.add_argument("--user", metavar="ID", help="the customer; anonymous without one")
    flags.add_argument("--session", metavar="ID", help="the session, which decides a share where there is no customer")
    flags.add_argument("--client", metavar="ID", help="the client of the token (MANGA_AUTH=jwt)")
    flags.add_argument("--scope", metavar="SCOPE", action="append", default=[], help="a scope of the token; repeatable")
    about = "show the tools and their schemas, or have packages' tools loaded anew"
    tools = add("tools", "tools.show_or_reload_tools", about)
    tools.add_argument("action", nargs="?", choices=["reload"], help="have the running server load its packages anew")
    for command in (doctor, flags, tools):
        command.add_argument("--json", dest="as_json", action="store_true", help="the same for programs")
    schema = add("schema", "cli.print_schema", "print the JSON Schema of a line of a file of your own")
    schema.add_argument("file", choices=["catalog", "volumes", "orders"], help="the file whose lines it describes")
    forget = add("forget", "forget.forget_user", "remove a customer's long-term profile and preferences")
    forget.add_argument("--user", required=True, metavar="ID", help="the customer, as the agent states them")
    return parser


async def print_schema(settings: Settings, file: str) -> int:
    from tools.store.records.schemas import schema_of

    print(json.dumps(schema_of(file, settings.identifiers), ensure_ascii=False, indent=2))
    return 0
