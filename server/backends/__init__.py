"""Opens the backend of each port, chosen by its URL. A client library is imported only if its backend is chosen."""
