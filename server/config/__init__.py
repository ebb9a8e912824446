"""The settings, the files they name, and the flags."""
