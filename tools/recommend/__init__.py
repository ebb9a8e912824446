"""Which titles suit a customer, and why."""
