"""The choice of titles for a customer, and its reasons."""
