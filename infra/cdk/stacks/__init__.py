"""CDK stacks, each deployed and rolled back as a whole."""
