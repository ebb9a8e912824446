"""Resources, prompts and completions on the wire."""
