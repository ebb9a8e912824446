"""Feature flags, which decide the tools that are on for a caller. The flags document is a file, an HTTP resource or a
DynamoDB item, and is polled for changes."""
