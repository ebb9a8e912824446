"""Connections into a pod: its loopback is nobody else's, and no port is published."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from http.client import HTTPConnection

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def socket_in(pid: int) -> socket.socket:
    """A TCP socket that belongs to the network of a process (setns(2)). Made in a thread that ends with it, because it is the
    thread that moves there. Raises `OSError`."""
    made: list[socket.socket | OSError] = []

    def make() -> None:
        try:
            network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            try:
                if LIBC.setns(network, CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
                made.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            finally:
                os.close(network)
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


class ConnectionInto(HTTPConnection):
    """To a port of the loopback that a process has."""

    def __init__(self, pid: int, port: int, timeout: float) -> None:
        super().__init__("127.0.0.1", port, timeout=timeout)
        self._pid = pid
        self._seconds = timeout

    def connect(self) -> None:
        self.sock = socket_in(self._pid)
        self.sock.settimeout(self._seconds)
        self.sock.connect((self.host, self.port))
