"""What theory says of a station (Erlang, 1917), to hold the simulation against."""

from __future__ import annotations


def erlang_c(servers: int, offered: float) -> float:
    """The share of arrivals that wait at M/M/c. `offered` is arrivals a second times seconds of service, less than `servers`."""
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = offered * blocked / (n + offered * blocked)
    return servers * blocked / (servers - offered * (1 - blocked))


def mean_wait(servers: int, arrivals: float, service: float) -> float:
    """Seconds before service at M/M/c, on average."""
    offered = arrivals * service
    return erlang_c(servers, offered) * service / (servers - offered)


def processor_sharing(arrivals: float, service: float) -> float:
    """Mean seconds in an M/M/1 of one processor, wait included; the same for FIFO and for sharing."""
    return service / (1 - arrivals * service)
