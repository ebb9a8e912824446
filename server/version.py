"""The version of this server."""

VERSION = "0.1.0"
