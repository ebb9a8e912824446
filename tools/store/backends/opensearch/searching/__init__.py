"""Recalling titles and handing them to the ranking."""
