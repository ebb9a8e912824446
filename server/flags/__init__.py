"""Feature flags: which tools are on, and for which callers. Read from a file, URL or DynamoDB table, and followed."""
