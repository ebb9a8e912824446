"""The values that describe resources, templates, prompts and extensions."""

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
"""Most values of one completion, MCP's limit."""
Completer = Callable[[ToolContext, str, Mapping[str, str]], Awaitable[Sequence[str]]]
"""(context, text typed so far, other known arguments) to values, likeliest first."""


LONGEST_VALUE = 256
VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A URI template. Each variable is one percent-encoded path segment of at most 256 characters."""

    text: str
    variables: tuple[str, ...] = field(init=False)
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compiles the template. Raises ValueError for any other form."""
        literals, names = VARIABLE.split(self.text)[::2], VARIABLE.findall(self.text)
        bare = "".join(literals)
        if (
            not names
            or len(set(names)) != len(names)
            or "{" in bare
            or "}" in bare
            or any("/" not in each for each in literals[1:-1])
        ):
            raise ValueError(f"{self.text!r} is no URI template with variables of their own")
        segment = rf"([^/?#\x00-\x20\x7f]{{1,{LONGEST_VALUE}}})"
        object.__setattr__(self, "variables", tuple(names))
        object.__setattr__(self, "_pattern", re.compile(segment.join(map(re.escape, literals))))

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded variables of an address; None if it does not match."""
        found = self._pattern.fullmatch(uri)
        return dict(zip(self.variables, map(unquote, found.groups()), strict=True)) if found else None


LONGEST_ARGUMENT = 2000


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["user", "assistant"]
    content: Content


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """A text argument of at most 2,000 characters, with an optional completer."""

    name: str
    description: str
    required: bool = False
    completer: Completer | None = None


PromptHandler = Callable[[ToolContext, Mapping[str, str]], Awaitable[Sequence[Message]]]
"""(context, checked arguments) to at least one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt that clients can fetch. `scope`: the scope that a token must grant for it, "" for none. `personal`: each time
    it is made, and each time values are proposed for an argument, a line is written to the audit. `asks`: its handler may
    ask the client questions. The handler has `timeout_ms` and may not write."""

    name: str
    title: str
    description: str
    handler: PromptHandler
    arguments: tuple[PromptArgument, ...] = ()
    scope: str = ""
    personal: bool = False
    asks: bool = False
    timeout_ms: int = 300


Contents = Sequence[EmbeddedText | EmbeddedBlob]
ReadHandler = Callable[[ToolContext, Mapping[str, str]], Awaitable[Contents]]
"""(context, the address under `uri` and a template's variables) to contents. Raises `NotFound`."""


@dataclass(frozen=True, slots=True)
class ReadFallback:
    """Reads a resource when a backend fails, as `Fallback` does for a tool."""

    name: str
    handler: ReadHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """The common fields of resources and templates. Contents may be kept for `ttl_ms`, by each caller alone if `private`. A
    token must grant `scope`, "" for nothing. Each reading of a `personal` one, and each proposal for a variable of it, is
    audited. Only `subscribable` ones can be waited for. The handler of one that `asks` may ask the client; it has
    `timeout_ms`, and may not write. Where a backend fails it, `fallback` is read."""

    name: str
    title: str
    description: str
    handler: ReadHandler
    mime_type: str = "text/plain"
    ttl_ms: int = 1000
    private: bool = False
    scope: str = ""
    personal: bool = False
    subscribable: bool = True
    asks: bool = False
    timeout_ms: int = 300
    fallback: ReadFallback | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Readable):
    """`uri` is its address. `meta` goes into the list and the contents. One of an `extension` is listed for clients that
    declared it and may use one of `of_tools`, if there are any."""

    uri: str
    meta: Json = field(default_factory=dict)
    extension: str = ""
    of_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate(Readable):
    """Resources whose addresses differ in variables, `manga://titles/{title_id}`. `completions` propose values of a
    variable."""

    uri_template: UriTemplate
    completions: Mapping[str, Completer] = field(default_factory=dict)


MethodHandler = Callable[[ToolContext, Mapping[str, str]], Awaitable[Json]]
"""(context, checked params) to the result. Raises `NotFound`."""


@dataclass(frozen=True, slots=True)
class Method:
    """A request of an extension, `name` on the wire. Its params are the texts of `required`; clients may keep the result for
    `ttl_ms`."""

    name: str
    title: str
    handler: MethodHandler
    required: tuple[str, ...] = ()
    ttl_ms: int = 1000
    timeout_ms: int = 300
    scope: str = ""

    @property
    def description(self) -> str:
        return self.title


Understood = Callable[[Any], Json | None]
"""Maps a client's declaration of the extension, any JSON, to the part that the server keeps; None if it is unusable."""
OfResult = Callable[[Store, MayUse, str, Json], Json]
"""Maps (store, the caller's tools, a tool's name, its result) to additions to the result's `_meta`. It calls no backend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """`name` is its identifier in the capabilities of a client. `of_tools` are, by name, what the list of tools says besides
    in the `_meta` of a tool, and `of_result` is what a result says besides in its own, which no model reads. `resources`
    name the extension: they are listed for these clients alone, and read by whoever asks. `declared` are the settings in the
    server's own capabilities, None for none; `methods` answer whoever calls them."""

    name: str
    understood: Understood
    of_tools: Mapping[str, Json] = field(default_factory=dict)
    of_result: OfResult = lambda store, may_use, tool, result: {}
    resources: tuple[Resource, ...] = ()
    declared: Json | None = None
    methods: tuple[Method, ...] = ()
