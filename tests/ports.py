"""Ports of this machine that are free, and that nobody is given by chance a moment later."""

import os
import socket
from itertools import count

_FIRST, _LAST = 20_000, 32_000  # below what the system hands out to connections and to whoever asks for port 0
_tried = count(os.getpid() * 97)


def free_port() -> int:
    """A port for a server that starts later, or that comes back."""
    for number in _tried:
        port = _FIRST + number % (_LAST - _FIRST)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("unreachable")
