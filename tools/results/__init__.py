"""Results of tools: rows, titles, volumes, orders, history, and how a long result is shortened."""
