"""Skills: the shop's rules as files, the one source of the server's instructions, prompts and loadable skills."""
