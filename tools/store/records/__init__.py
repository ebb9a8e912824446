"""JSON formats of titles, volumes and orders, which files and all backends share. Types and limits are those of
`tools.store.models`."""
