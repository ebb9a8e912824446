"""The settings, and the files and addresses that they name."""
