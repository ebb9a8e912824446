"""What the model is told before the conversation: the store's own rules, as its server has them today."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.shared.exceptions import MCPError
from mcp.types import TextContent
from strands.tools.mcp import MCPClient

NAME = "shopping_assistant"
OWN_WORDS = "You help the customers of a manga store. Answer from what its tools say, and from nothing else."


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """`source` says where the text is from."""

    source: str
    text: str


def system_prompt(client: MCPClient, language: str = "en") -> SystemPrompt:
    """The server's prompt for this; its instructions where it has none, as older servers; else a sentence of our own."""
    try:
        made = client.get_prompt_sync(NAME, {"language": language})
    except MCPError:
        said = client.server_instructions
        return SystemPrompt("instructions", said) if said else SystemPrompt("own words", OWN_WORDS)
    texts = [message.content.text for message in made.messages if isinstance(message.content, TextContent)]
    return SystemPrompt(NAME, "\n".join(texts))
