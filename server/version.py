"""The server's version, and the version of its contract with clients and with stored data."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
VERSION: str = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["version"]
CONTRACT = 1
"""Increased when names, schemas, keys, tables or the index change other than by addition (infra/docs/clients.md)."""
