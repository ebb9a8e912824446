"""How the server is deployed and filled: nothing in the server, the tools or the session imports from here."""
