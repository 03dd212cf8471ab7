"""What a request may ask for, so that no request takes unbounded time or memory."""

import re
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from zerosnet.errors import InputError

MOST_STEPS = 8
MOST_DIGITS = 50
MOST_BLOCKS = 432
MOST_GRID_POINTS = 400  # along each side
MOST_PATH_POINTS = 601
FARTHEST = 1e6  # a window or a range ends here
LONGEST_QUERY = 4_096
SECONDS = 3.0  # for the points of one grid

_LITERAL = re.compile(r"(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE]([+-]?\d+))?", re.ASCII)
_ALLOWED = re.compile(r"[0-9a-zA-Z^*/+\-._ ]*", re.ASCII)


_HERE = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = ("0.0.0.0", "::")


def is_own_host(header: str, started_with: str) -> bool:
    """Return True if a Host header names this server: no other site may read answers under its own name.

    A server on all interfaces is also reached by the addresses and the name of its machine.
    """
    try:
        host = urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return False
    if host in (*_HERE, started_with.lower()):
        return True
    if started_with not in _EVERYWHERE:
        return False
    return _is_address(host) or host in (socket.gethostname().lower(), socket.getfqdn().lower())


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class BadParameter(InputError):
    """A request that asks for something it may not; `parameter` is its name in the query."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


def numbers_in(text: str, name: str, most: int = MOST_STEPS) -> list[str]:
    """The parts of a comma-separated list, each short enough to be read exactly: digits are counted, not yet read."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if len(parts) > most:
        raise BadParameter(name, f"{name} has {len(parts)} entries; expected at most {most}")
    for i, part in enumerate(parts):
        if not part or not _ALLOWED.fullmatch(part):
            raise BadParameter(name, f"{name}[{i}] is {part[:40]!r}; expected a number such as 2, 0.1 or 1/3")
        if any(_digits(*literal) > MOST_DIGITS for literal in _LITERAL.findall(part)):
            raise BadParameter(name, f"{name}[{i}] has more than {MOST_DIGITS} digits; expected at most {MOST_DIGITS}")
    return parts


def _digits(mantissa: str, exponent: str) -> int:
    """How many digits a literal has when it is written out, at most; long exponents are not converted."""
    shift = 0 if not exponent else abs(int(exponent)) if len(exponent) <= 4 else MOST_DIGITS + 1
    return sum(character.isdigit() for character in mantissa) + shift
