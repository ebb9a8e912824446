"""What a resource is: a value. It is read by its address, as a tool is called by its name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tools.contract import Json, ToolContext
from tools.primitives.completion import Completer
from tools.primitives.uri_template import UriTemplate
from tools.results.content import EmbeddedBlob, EmbeddedText

Contents = Sequence[EmbeddedText | EmbeddedBlob]
ReadHandler = Callable[[ToolContext, Mapping[str, str]], Awaitable[Contents]]
"""(context, the address under `uri`, and a template's variables) to what is there. Raises `NotFound` where nothing is."""


@dataclass(frozen=True, slots=True)
class ReadFallback:
    """What is read where a backend does not deliver, as `Fallback` is for a tool."""

    name: str
    handler: ReadHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """`uri` is its address. Contents may be kept for `ttl_ms`, by whoever has asked alone where they are `private`.

    `scope` is what a token must grant to read it, "" for nothing; each reading of a `personal` one, and each proposal
    for a variable of it, leaves a line in the audit. Of what is not `subscribable` nobody
    is told that it has changed, and nobody may wait for it. `asks` is for one whose handler may ask the client something. A
    handler has `timeout_ms`, and may not write. Where a backend fails it, `fallback` is read, as a tool's is. `meta` is said
    in the list and with what is read. One of an `extension` is listed for clients that have declared it, where they may use
    one of `of_tools`."""

    uri: str
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
    meta: Json = field(default_factory=dict)
    extension: str = ""
    of_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate:
    """Resources whose addresses differ in variables, `manga://titles/{title_id}`; the rest as of a resource. `completions`
    propose values of a variable."""

    uri_template: UriTemplate
    name: str
    title: str
    description: str
    handler: ReadHandler
    mime_type: str = "text/plain"
    completions: Mapping[str, Completer] = field(default_factory=dict)
    ttl_ms: int = 1000
    private: bool = False
    scope: str = ""
    personal: bool = False
    subscribable: bool = True
    asks: bool = False
    timeout_ms: int = 300
    fallback: ReadFallback | None = None
