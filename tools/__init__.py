"""MCP tools of the store, one module each. `contract` defines a tool and `registry` lists them; the packages hold shared
code: store, schemas, results, conditions, recommendations."""
