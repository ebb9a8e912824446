"""The stacks: each is deployed and rolled back as a whole."""
