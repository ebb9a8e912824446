"""Deployment, operation and demo data of the server. The packages server, tools and session never import from here."""
