"""One concern each; none knows a stack."""
