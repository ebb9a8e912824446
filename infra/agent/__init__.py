"""Example agent: a shop's chatbot, built with Strands, that uses this MCP server."""
