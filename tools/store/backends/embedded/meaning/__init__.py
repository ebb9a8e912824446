"""Finding titles by what their texts mean."""
