"""What the store can do: one module a tool, what a tool is (`contract`), and their list (`registry`). What carries them has
rooms of its own: the store itself, schemas, the looks of results, recommending."""
