"""The local server: a port, a printed address, a browser, and a clean end."""

import gc
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

from zerosnet.errors import InputError, MissingExtra

HOST, PORT = "127.0.0.1", 8765
_MOST_CONNECTIONS = 512  # beyond these the answer is 503; requests of the others wait for a thread
_PATIENCE = 10.0  # seconds within which a connection has to ask for something
_LONGEST_ANSWER = 60.0  # seconds within which an answer has to be read
_PACKAGES = ("anyio", "fastapi", "pydantic", "starlette", "uvicorn")
_THREADS = 4  # that compute; numerics hold the interpreter most of the time


def serve(host: str = HOST, port: int = PORT, *, browser: bool = True, report: Callable[[str], Any] = print) -> None:
    """Serve the explorer until it is interrupted; `port` 0 takes a free one. The address is passed to `report`."""
    try:
        import uvicorn
        from anyio.to_thread import current_default_thread_limiter
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        from zerosnet.explorer.app import create_app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _PACKAGES:
            raise MissingExtra(f"{error.name}, which the explorer needs,", "explore") from None
        raise
    listener = listen(host, port)
    address = address_of(listener)
    config = uvicorn.Config(
        create_app(host),
        http=impatient(AutoHTTPProtocol),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=2,
        lifespan="off",
    )

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            current_default_thread_limiter().total_tokens = _THREADS
            await super().startup(sockets=sockets)
            _ready(address, browser, report)

    with listener, suppress(KeyboardInterrupt):  # raised once more after the server has ended
        Server(config).run(sockets=[listener])


def impatient(protocol: Any) -> Any:
    """An HTTP protocol of uvicorn that closes connections on which nothing is asked, or no answer is read, for long.

    uvicorn itself waits for a first request for ever.
    """

    class Impatient(protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watched, self._since = None, self.loop.time()
            self._watch = self.loop.call_later(_PATIENCE, self._look)

        def connection_lost(self, error: Exception | None) -> None:
            self._watch.cancel()
            super().connection_lost(error)

        def _look(self) -> None:
            """Close the connection if its request is the same as a while ago; uvicorn calls a request a cycle."""
            now, request = self.loop.time(), self.cycle
            if request is not self._watched:
                self._watched, self._since = request, now
            if now - self._since > _allowed(request):
                self.transport.abort()
            else:
                self._watch = self.loop.call_later(_PATIENCE, self._look)

    return Impatient


def _allowed(request: Any) -> float:
    """Seconds for which a connection may stay with a request: none, answered, being answered, or being computed."""
    if request is None or request.response_complete:
        return _PATIENCE / 2
    return _LONGEST_ANSWER if request.response_started else inf


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; a port in use, or a host that is not ours, is one line."""
    if not 0 <= port <= 65_535:
        raise InputError(f"port is {port}; expected a number from 0 (any free port) to 65535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InputError(f"host {host!r} is not known ({error.strerror}); expected such as 127.0.0.1") from None
    family, kind, protocol, _, where = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # a port that was just left may be taken again at once
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(_MOST_CONNECTIONS)
    except OSError as error:
        listener.close()
        raise InputError(f"port {port} on {host}: {error.strerror}; --port 0 takes a free one") from None
    return listener


def address_of(listener: socket.socket) -> str:
    """The address to open; a server on all interfaces is reached at this machine's own."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _ready(address: str, browser: bool, report: Callable[[str], Any]) -> None:
    report(f"zerosnet explorer: {address}   (Ctrl-C ends it)")
    threading.Thread(target=_warm_up, daemon=True).start()
    if browser:
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()


def _warm_up() -> None:
    """Load sympy, solve the families' sets and draw the map before somebody asks.

    What is loaded by then stays: the garbage collector is told not to look through it again, which took 70 ms now and
    then in the middle of a drag.
    """
    from zerosnet.explorer.documents import accuracies_document, map_document
    from zerosnet.explorer.locus import families_document

    families_document()
    map_document()
    accuracies_document()
    gc.collect()
    gc.freeze()
