import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from tests.explorer.serving import start, stop

from zerosnet.cli.main import run
from zerosnet.errors import InputError, MissingExtra
from zerosnet.explorer.server import address_of, impatient, listen, serve


def test_the_command_serves_on_this_machine_only_and_ends_cleanly_on_ctrl_c():
    pytest.importorskip("uvicorn", reason="the explorer's extra is not installed")
    process, address = start()
    try:
        assert address.startswith("http://127.0.0.1:")
        with urlopen(f"{address}api/analyze?family=zerosnet&param=-9/5") as answer:
            assert json.load(answer)["kind"] == "strongly stable"
        with urlopen(address) as answer:
            assert b"Zero stability" in answer.read()
    finally:
        code, complaints = stop(process)
    assert (code, complaints) == (0, "")


def test_a_port_in_use_is_one_line_and_exit_code_2(capsys):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert run(["explore", "--no-browser", "--port", str(port)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"port {port}" in error


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", -1), ("127.0.0.1", 70_000), ("no.such.host.invalid", 0)])
def test_addresses_that_cannot_be_are_refused(host, port):
    with pytest.raises(InputError, match=r"host|port"):
        listen(host, port)


def test_port_0_is_a_free_port_and_all_interfaces_are_reached_at_home():
    with listen("0.0.0.0", 0) as listener:
        port = listener.getsockname()[1]
        assert port > 0
        assert address_of(listener) == f"http://127.0.0.1:{port}/"


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_ipv6_addresses_stand_in_brackets():
    try:
        listener = listen("::1", 0)
    except InputError:
        pytest.skip("this machine has no IPv6 address")
    with listener:
        assert address_of(listener).startswith("http://[::1]:")


def test_a_missing_extra_is_reported_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"zerosnet\[explore\]"):
        serve(browser=False)


def status_of(address: str) -> int:
    with urlopen(address, timeout=120) as answer:
        return answer.status


def test_a_hundred_silent_connections_block_no_others(address):
    where = urlsplit(address)
    silent = [socket.create_connection((where.hostname, where.port)) for _ in range(100)]
    try:
        silent[0].sendall(b"GET / HTTP/1.1\r\n")
        assert status_of(f"{address}api/analyze?family=euler") == 200
    finally:
        for connection in silent:
            connection.close()


def test_two_hundred_requests_at_once_are_all_answered(address):
    with ThreadPoolExecutor(200) as pool:
        found = list(pool.map(status_of, [f"{address}api/analyze?family=zerosnet&param=1/{n}" for n in range(4, 204)]))
    assert found == [200] * 200


class Loop:
    """A clock that is set by hand, and the one call that waits for it."""

    def __init__(self):
        self.now, self.waiting = 0.0, None

    def time(self):
        return self.now

    def call_later(self, seconds, call):
        self.waiting = call
        return SimpleNamespace(cancel=lambda: None)

    def pass_ten_seconds(self):
        self.now += 10
        self.waiting()


class Connection:
    """As much of uvicorn's protocol as is needed."""

    def __init__(self, request):
        self.loop, self.cycle, self.closed = Loop(), request, 0

    def connection_made(self, transport):
        self.transport = transport


@pytest.mark.parametrize(
    ("request_state", "tens_of_seconds"),
    [(None, 1), ((True, True), 2), ((True, False), 8), ((False, False), None)],
    ids=["nothing is asked", "it is answered", "the answer is not read", "it is still computed"],
)
def test_a_connection_is_closed_if_nothing_happens_on_it(request_state, tens_of_seconds):
    started, complete = request_state or (False, False)
    cycle = SimpleNamespace(response_started=started, response_complete=complete) if request_state else None
    connection = impatient(Connection)(cycle)
    closed = []
    connection.connection_made(SimpleNamespace(abort=lambda: closed.append(connection.loop.now / 10)))
    for _ in range(20):
        if not closed:
            connection.loop.pass_ten_seconds()
    assert closed == ([] if tens_of_seconds is None else [tens_of_seconds])
