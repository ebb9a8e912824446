"""Prompts: the rules of the trade, and the steps of some tasks."""
