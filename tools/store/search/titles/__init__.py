"""What a title is searched by."""
