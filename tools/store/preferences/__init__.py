"""What stated preferences come to: read as a shopper's words are, and which of two holds on the same matter."""
