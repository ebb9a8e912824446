"""The shop's know-how: skills as files, the one source of instructions, prompts and loaded skills."""
