"""The ranking of titles by evidence, the same for every backend."""
