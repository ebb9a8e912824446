"""Finding titles by the letters of names and the words of texts."""
