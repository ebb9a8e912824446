"""The backends behind the ports, one package a kind; each translates its driver's errors at its own edge."""
