"""Ctrl-C before anything has begun: one line, exit code 130."""

import os
import signal
import subprocess
import sys

import pytest

from zerosnet.cli import output
from zerosnet.cli.main import run

LOADS_LONG = """
import time
print("loading", flush=True)
try:
    time.sleep(30)
except BaseException:  # as some packages do, who then go on without a part of theirs
    pass
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interrupt_while_modules_load_is_one_line(tmp_path):
    (tmp_path / "torch.py").write_text(LOADS_LONG)
    command = [sys.executable, "-m", "zerosnet", "train", "zerosnet20_opt", "--dataset", "digits"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell may have the tests ignore it
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=20)
    assert (process.returncode, complaints) == (130, "zerosnet: interrupted\n")


def test_an_interrupted_command_reports_it(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "named_scheme", interrupted)
    assert run(["analyze", "leapfrog"]) == 130
    assert capsys.readouterr().err == "zerosnet: interrupted\n"
