"""The settings, and the files and URLs that they name."""
