"""HTTP: routes, transports, and what every request passes first."""
