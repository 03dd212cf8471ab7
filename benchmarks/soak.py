"""The explorer under siege: two hundred clients, slow ones, half-open connections and hostile queries, at once.

The server runs as a user starts it, in a process of its own. Two hundred people who ask once a minute make 12,000
requests an hour; they are made here as fast as the server answers. Every answer is compared with what the package
itself computes, and the server's memory is read from the system while all of it goes on.
"""

import json
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from benchmarks.explorer import served
from benchmarks.record import on_cpu

SEED = 27
REQUESTS, CLIENTS = 12_000, 200
SLOW, HALF_OPEN = 20, 100
_PATIENCE = 120.0  # seconds that a client waits
_SCHEMES = ("zerosnet(-9/5)", "zerosnet(1/2)", "lm(1/2)", "1;1", "0,1;2", "1/3,5/9,1/9;16/9", "1,1,1;1", "3/2,-1/2;1/2")
_HOSTILE = (
    "/api/analyze?alphas=" + "9" * 4000 + "&betas=1", "/api/analyze?alphas=1e99999999&betas=1", "/api/copy?beta=1",
    "/api/analyze?family=zerosnet&param=1/0", "/api/region?family=euler&nx=400&ny=1e9", "/api/analyze?family=%00",
    "/api/region?family=euler&left=-1e300&right=1e300&bottom=0&top=1", "/api/forecast?family=lm&param=1/2&layers=10**9",
    "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/" + "x" * 3000, "/static/..%2f..%2fserver.py",
    "/api/locus?family=zerosnet&low=1&high=0", "/api/envelope?family=euler&blocks=999999999", "/api/copy?family=[]",
)  # fmt: skip
Connect = Callable[[], HTTPConnection]
suffix = on_cpu


def run() -> dict[str, Any]:
    try:
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        return {"skipped": "the explorer's packages are not installed: pip install 'zerosnet[explore]'"}
    return soak(REQUESTS, CLIENTS, SLOW, HALF_OPEN, SEED)


def soak(requests: int, clients: int, slow: int, half_open: int, seed: int) -> dict[str, Any]:
    """Start a server, let clients ask it so many requests in all, and count what came back."""
    asked = _questions(seed)
    with served() as (process, address):
        where = urlsplit(address)
        assert where.hostname is not None and where.port is not None
        host, port = where.hostname, where.port

        def connect() -> HTTPConnection:
            return HTTPConnection(host, port, timeout=_PATIENCE)

        _ask(connect(), "/api/families")  # what is computed once is computed
        _ask(connect(), "/api/map")
        siege = Siege(connect, asked, requests, seed)
        silent = [socket.create_connection((host, port)) for _ in range(half_open)]
        for connection in silent[::2]:
            connection.sendall(b"GET /api/analyze?family=euler HTTP/1.1\r\nHost: loc")
        memory = siege.at_work(clients, slow, process.pid)
        for connection in silent:
            connection.close()
        alive = process.poll() is None and _ask(connect(), "/api/paper")[0] == 200
    return (
        siege.record() | memory | {"clients": clients, "slow": slow, "half_open": half_open, "alive_at_the_end": alive}
    )


def _questions(seed: int) -> list[tuple[str, Any]]:
    """List paths with the answers that the package gives without a server."""
    from zerosnet.numerics import Scheme, facts, zerosnet

    rng = random.Random(seed)
    found = []
    for text in _SCHEMES:
        scheme = Scheme.parse(text)
        alphas, betas = (quote(",".join(map(str, numbers))) for numbers in (scheme.alphas, scheme.betas))
        found.append((f"/api/analyze?alphas={alphas}&betas={betas}", facts(scheme)))
    for _ in range(40):
        param = f"{rng.randint(-90, 90)}/{rng.randint(1, 30)}"
        found.append((f"/api/analyze?family=zerosnet&param={quote(param)}", facts(zerosnet(param))))
    plain = [(path, json.loads(json.dumps(answer))) for path, answer in found]
    return [*plain, *(_view(path, answer) for path, answer in plain[:8])]


def _view(path: str, answer: Any) -> tuple[str, Any]:
    return path.replace("/api/analyze", "/api/view") + "&nx=41&ny=41&blocks=27", {"analysis": answer}


class Siege:
    """Clients that ask until all requests are made, and what they saw."""

    def __init__(self, connect: Connect, asked: list[tuple[str, Any]], requests: int, seed: int) -> None:
        self.connect, self.asked, self.left, self.seed = connect, asked, requests, seed
        self.outcomes: Counter[str] = Counter()
        self.failures: list[str] = []
        self.seconds: list[float] = []
        self._lock = threading.Lock()

    def at_work(self, clients: int, slow: int, process: int) -> dict[str, Any]:
        """Let all clients work to the end; return how the server's memory went."""
        total, began, stop = self.left, time.monotonic(), threading.Event()
        threads = [threading.Thread(target=self._client, args=(number,)) for number in range(clients)]
        lingering = [threading.Thread(target=self._slow_client, args=(stop,)) for _ in range(slow)]
        for thread in (*threads, *lingering):
            thread.start()
        memory: list[tuple[float, float]] = []
        while any(thread.is_alive() for thread in threads):
            memory.append((1 - self.left / total, _megabytes(process)))
            time.sleep(0.5)
        stop.set()
        for thread in lingering:
            thread.join()
        memory.append((1.0, _megabytes(process)))
        tenths = [next(size for done, size in memory if done >= tenth / 10) for tenth in range(1, 11)]
        return {
            "seconds": round(time.monotonic() - began, 1),
            "memory_megabytes": [round(size) for size in tenths],
            "memory_growth_megabytes": round(tenths[-1] - tenths[1], 1),
        }

    def record(self) -> dict[str, Any]:
        times = sorted(self.seconds)
        return {
            "seed": self.seed,
            "requests": sum(self.outcomes.values()),
            "outcomes": dict(sorted(self.outcomes.items())),
            "median_seconds": round(times[len(times) // 2], 3),
            "slowest_seconds": round(times[-1], 2),
            "failures": self.failures,
        }

    def _client(self, number: int) -> None:
        """Ask and compare; every tenth request is hostile, and connections are kept for a while."""
        rng = random.Random(f"{self.seed} {number}")
        connection = self.connect()
        while self._take():
            if rng.random() < 0.05:
                connection.close()
                connection = self.connect()
            hostile = rng.random() < 0.1
            path, expected = (rng.choice(_HOSTILE), None) if hostile else rng.choice(self.asked)
            began = time.monotonic()
            try:
                status, answer = _ask(connection, path)
            except (OSError, HTTPException) as error:
                self._count("failure", f"{path[:100]}: {type(error).__name__}: {error}")
                connection.close()
                connection = self.connect()
                continue
            self._judge(path, status, answer, expected, time.monotonic() - began)
        connection.close()

    def _slow_client(self, stop: threading.Event) -> None:
        """Send a request byte by byte, and do not read the answer of another one."""
        while not stop.is_set():
            with suppress(OSError):
                connection = self.connect()
                connection.connect()
                request = f"GET /api/analyze?family=euler HTTP/1.1\r\nHost: localhost:{connection.port}\r\n\r\n"
                for byte in request.encode():
                    connection.sock.sendall(bytes([byte]))
                    if stop.wait(0.05):
                        break
                stop.wait(5)
                connection.close()

    def _judge(self, path: str, status: int, answer: bytes, expected: Any, seconds: float) -> None:
        if expected is None:
            refused = 400 <= status < 500
            self._count("hostile, refused" if refused else "failure", f"{path[:100]}: status {status}")
            return
        self.seconds.append(seconds)
        found = json.loads(answer) if status == 200 else None
        if "analysis" in expected and isinstance(found, dict):
            found = {"analysis": found.get("analysis")}
        right = found == expected
        self._count("right" if right else "failure", f"{path[:100]}: status {status}, another answer")

    def _take(self) -> bool:
        with self._lock:
            self.left -= 1
            return self.left >= 0

    def _count(self, outcome: str, text: str) -> None:
        with self._lock:
            self.outcomes[outcome] += 1
            if outcome == "failure":
                self.failures.append(text)


def _ask(connection: HTTPConnection, path: str) -> tuple[int, bytes]:
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def _megabytes(process: int) -> float:
    """Read how much memory a process holds."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]
