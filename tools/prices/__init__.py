"""What titles cost: in each format, what a set saves, and which is cheapest."""
