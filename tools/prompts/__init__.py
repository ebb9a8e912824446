"""What a model is told before it talks to customers: the rules of the trade, and the steps of some tasks."""
