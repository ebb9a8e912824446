"""The store's MCP tools, one module per tool. `contract` defines the `Tool` class, `registry` lists the tools, and the
packages hold code that the tools share."""
