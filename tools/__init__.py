"""What the store can do: the tool contract, failures, ports, one module a tool, and the backends behind the ports."""
