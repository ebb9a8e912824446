"""HTTP: routes, transports, and the checks that every request passes first."""
