"""The process while it lives: its start and end, its health, and what runs behind the calls."""
