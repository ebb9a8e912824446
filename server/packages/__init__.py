"""Tools from packages that are installed beside the server, by entry point; loaded at the start and again when asked."""
