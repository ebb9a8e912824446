"""Defines resources, resource templates, prompts and extensions."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from tools.contract import Json, MayUse, ToolContext
from tools.results.content import Content, EmbeddedBlob, EmbeddedText
from tools.store.store import Store

MOST_VALUES = 100
"""Most values of one completion, the limit of MCP."""
Completer = Callable[[ToolContext, str, Mapping[str, str]], Awaitable[Sequence[str]]]
"""Maps (context, text typed so far, other known arguments) to values, likeliest first."""


LONGEST_VALUE = 256
VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A URI template, such as `manga://titles/{title_id}`. Each variable stands for 1 to 256 characters within one path
    segment, percent-encoded; a segment has at most one variable."""

    text: str

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(VARIABLE.findall(self.text))

    def match(self, uri: str) -> dict[str, str] | None:
        """Returns the decoded variables of a URI; None if the URI does not match."""
        segment = rf"([^/?#\x00-\x20\x7f]{{1,{LONGEST_VALUE}}})"
        literals = VARIABLE.split(self.text)[::2]
        found = re.fullmatch(segment.join(map(re.escape, literals)), uri)
        return dict(zip(self.variables, map(unquote, found.groups()), strict=True)) if found else None


LONGEST_ARGUMENT = 2000


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["user", "assistant"]
    content: Content


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """A text argument of a prompt, of at most 2,000 characters. `completer` proposes values; None if there are none to
    propose."""

    name: str
    description: str
    required: bool = False
    completer: Completer | None = None


PromptHandler = Callable[[ToolContext, Mapping[str, str]], Awaitable[Sequence[Message]]]
"""Maps (context, checked arguments) to at least one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Common fields of resources, templates and prompts. Their handlers must not write data and must finish within
    `timeout_ms`. `scope`: scope that the caller's token must grant, "" for none. `personal`: the audit log records each use
    and completion. `asks`: the handler may send questions to the client."""

    name: str
    title: str
    description: str
    scope: str = ""
    personal: bool = False
    asks: bool = False
    timeout_ms: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Definition):
    handler: PromptHandler
    arguments: tuple[PromptArgument, ...] = ()


Contents = Sequence[EmbeddedText | EmbeddedBlob]
ReadHandler = Callable[[ToolContext, Mapping[str, str]], Awaitable[Contents]]
"""Maps (context, the URI under `uri` and a template's variables) to contents. Raises `NotFound`."""


@dataclass(frozen=True, slots=True)
class ReadFallback:
    name: str
    handler: ReadHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable(Definition):
    """Common fields of resources and templates. `ttl_ms`: how long clients may cache the contents; `private`: a cached copy
    is for one caller only. `subscribable`: clients may subscribe to changes. `fallback`: used if a backend fails; None: the
    read then fails."""

    handler: ReadHandler
    mime_type: str = "text/plain"
    ttl_ms: int = 1000
    private: bool = False
    subscribable: bool = True
    fallback: ReadFallback | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Readable):
    """A resource at a fixed `uri`. `meta` is sent in the list and with the contents. A resource of an `extension` is
    listed only for clients that declared it and, if `of_tools` is not empty, for callers that may use one of these tools."""

    uri: str
    meta: Json = field(default_factory=dict)
    extension: str = ""
    of_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate(Readable):
    """Resources whose URIs differ in variables, as in `manga://titles/{title_id}`. `completions`: completers by variable."""

    uri_template: UriTemplate
    completions: Mapping[str, Completer] = field(default_factory=dict)


MethodHandler = Callable[[ToolContext, Mapping[str, str]], Awaitable[Json]]
"""Maps (context, checked params) to the result. Raises `NotFound`."""


@dataclass(frozen=True, slots=True)
class Method:
    """A JSON-RPC method of an extension, called `name` on the wire. `required`: names of its params, all strings. `ttl_ms`:
    how long clients may cache the result. `timeout_ms`: the handler's limit. `scope`: as in `Definition`."""

    name: str
    title: str
    handler: MethodHandler
    required: tuple[str, ...] = ()
    ttl_ms: int = 1000
    timeout_ms: int = 300
    scope: str = ""


Understood = Callable[[Any], Json | None]
"""Maps a client's declaration of the extension (any JSON) to the settings that the server keeps; None if unusable."""
OfResult = Callable[[Store, MayUse, str, Json], Json]
"""Maps (store, predicate of allowed tools, tool name, result) to additions to the result's `_meta`. Calls no backend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """An MCP extension. `name`: its identifier in the capabilities of clients.

    `declared`: settings in the server's own capabilities, None to declare nothing. `methods`: callable by all clients.
    The rest is only for clients that declared the extension. `of_tools`: additions to the `_meta` of tools in the tool
    list, by tool name. `of_result`: returns additions to the `_meta` of successful results, which models do not read.
    `resources`: listed only for these clients, but readable by all."""

    name: str
    understood: Understood
    of_tools: Mapping[str, Json] = field(default_factory=dict)
    of_result: OfResult = lambda store, may_use, tool, result: {}
    resources: tuple[Resource, ...] = ()
    declared: Json | None = None
    methods: tuple[Method, ...] = ()
