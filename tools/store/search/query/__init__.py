"""What a query says."""
