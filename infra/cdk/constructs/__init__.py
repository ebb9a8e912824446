"""CDK constructs, one concern each."""
