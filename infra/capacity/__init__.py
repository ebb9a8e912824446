"""What a shop of so many messages a day needs in AWS, and what it costs: arithmetic over measured inputs and prices."""
