import json
import socket
import sys
from urllib.request import urlopen

import pytest
from tests.explorer.serving import start, stop

from zerosnet.cli.main import run
from zerosnet.errors import InputError, MissingExtra
from zerosnet.explorer.server import address_of, listen, serve


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


def test_a_missing_extra_is_said_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"zerosnet\[explore\]"):
        serve(browser=False)
