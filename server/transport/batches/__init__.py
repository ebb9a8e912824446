"""Batches of JSON-RPC, which MCP had in 2025-03-26 and before: several messages in one array."""
