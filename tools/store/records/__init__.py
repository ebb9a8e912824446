"""What a title, a volume and an order look like as JSON, in files and wherever a backend keeps them. Shape and ranges follow
from `tools.store.models`; no backend has a format of its own."""
