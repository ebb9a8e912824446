"""The relay: a request that reaches a process other than the one that holds its session is forwarded to that one."""
