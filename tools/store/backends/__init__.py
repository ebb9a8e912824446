"""Implementations of the ports, one package for each kind of backend; each translates its driver's errors itself."""
