"""Deployment of the server and its data. The packages server, tools and session import nothing from here."""
