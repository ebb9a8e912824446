"""MCP prompts: the shop's rules for an assistant, and step-by-step instructions for some tasks."""
