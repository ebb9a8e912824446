"""The relay forwards a request to the process that holds the request's session."""
