"""What is deployed and rolled back together."""
