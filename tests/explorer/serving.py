"""A server in a process of its own, as a user starts it."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def start(port: int = 0) -> tuple[subprocess.Popen[str], str]:
    """The process and its address."""
    command = [sys.executable, "-m", "zerosnet", "explore", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+", line)
    assert found, line + (process.communicate()[1] if not line else "")
    return process, found.group()


def stop(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Ctrl-C; the exit code and what was said on stderr."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=120)
    return process.returncode, complaints


@contextmanager
def served(port: int = 0) -> Iterator[str]:
    process, address = start(port)
    try:
        yield address
    finally:
        stop(process)


def eventually(found, seconds: float = 90.0):
    """What `found` gives once it is true; how long that takes is not the question here."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {found()!r}")
