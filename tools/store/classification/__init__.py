"""What kind of manga a text is about, judged by what the catalogue says of titles like it."""
