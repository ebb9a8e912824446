"""Parsing of queries."""
