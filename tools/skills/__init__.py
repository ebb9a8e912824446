"""The shop's know-how: skills as files, one source of the instructions, of the prompts and of what hosts load."""
