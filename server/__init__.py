"""The server: settings, wiring, transports, the call pipeline with its stages, and the command line."""
