"""What a call may say to its client while it runs, what it may ask it, and what the client carries between two rounds."""
