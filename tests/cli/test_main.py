"""Bad input under torchrun: the first process of a machine says so, the others give it time. Poor terminals."""

import os
import subprocess
import sys

import pytest
from torch import distributed

from zerosnet.cli import main


@pytest.mark.parametrize(
    ("environment", "met", "waits"),
    [
        ({}, False, False),
        ({"TORCHELASTIC_RUN_ID": "a", "LOCAL_RANK": "0"}, False, False),
        ({"TORCHELASTIC_RUN_ID": "a", "LOCAL_RANK": "1"}, False, True),
        ({"TORCHELASTIC_RUN_ID": "a", "LOCAL_RANK": "1"}, True, False),
        ({"LOCAL_RANK": "1"}, False, False),
    ],
)
def test_only_later_processes_that_have_not_met_wait(environment, met, waits, monkeypatch, capsys):
    waited = []
    for name in ("TORCHELASTIC_RUN_ID", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(distributed, "is_initialized", lambda: met)
    monkeypatch.setattr(main.time, "sleep", waited.append)
    assert main.run(["analyze", "nonsense"]) == 2
    assert waited == ([main.TURN] if waits else [])
    assert capsys.readouterr().err.startswith("zerosnet: ")  # where the first one had nothing to say


def test_a_sign_that_an_encoding_lacks_is_no_reason_to_stop():
    patched = "from zerosnet.cli import main; main.run = lambda: print('1 ± 2') or 0"
    script = f"{patched}; from zerosnet import __main__; __main__.main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "1 ? 2\n")
