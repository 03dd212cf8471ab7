"""Commands of zerosnet in forked children of a process that has loaded everything: real processes, started in no time.

The children train on 64 training and 20 test images of the embedded digits, and the page of `reproduce` is left blank.
"""

import contextlib
import functools
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

IMAGES, TESTS, BATCH = 64, 20, 32
STEPS = IMAGES // BATCH  # per epoch
PATIENCE = 240.0  # seconds that a command may take
SAVE = ("--deterministic", "--device", "cpu", "--checkpoint-every", "0.05s")
TIMES = ("seconds", "environment", "date")


def warm_up() -> None:
    """Load all that the commands need, and make data and experiment small; for the process that forks children."""
    import typer

    import zerosnet.cli.main
    import zerosnet.environment
    import zerosnet.experiments.registry as registry
    import zerosnet.report.page.document as document
    from zerosnet.data import load
    from zerosnet.data.registry import SOURCES
    from zerosnet.experiments import experiment
    from zerosnet.experiments.scales import TrainingPlan

    torch.set_num_threads(1)
    data = load("digits")
    small = data.train.subset(torch.arange(IMAGES)), data.test.subset(torch.arange(TESTS))
    SOURCES["digits"] = replace(SOURCES["digits"], read=lambda place: small)
    state = zerosnet.environment.git_state()
    zerosnet.environment.git_state = lambda: state
    typer.main.get_command = functools.cache(typer.main.get_command)
    document.render = lambda *_, **__: "<p>left blank</p>"
    whole = experiment("table-constant-noise")
    row = whole.rows[0]
    cells = [replace(c, training=TrainingPlan("zerosnet20_opt")) for c in whole.cells if c.row == row.key]
    registry.EXPERIMENTS["torture"] = replace(whole, name="torture", rows=(row,), cells=tuple(cells))
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        nothing = stack.enter_context(Path(os.devnull).open("w"))
        stack.enter_context(contextlib.redirect_stdout(nothing))
        stack.enter_context(contextlib.redirect_stderr(nothing))
        for command in COMMANDS.values():  # loads and prepares what the first call would
            code = zerosnet.cli.main.run(command(folder, folder / "store"))
            assert code == 0, (command, code)
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError("threads are left, which a fork would lose")


def train_command(work: Path, store: Path) -> list[str]:
    seeds = ["--seed", "1", "--seed", "2", "--epochs", "3", "--batch", str(BATCH)]
    chosen = ["train", "zerosnet20_opt", "--dataset", "digits", "--recipe", "quick", *seeds]
    return [*chosen, *SAVE, "--store", str(store)]


def sweep_command(work: Path, store: Path) -> list[str]:
    path = work / "sweep.json"
    if not path.exists():
        grid: dict[str, Any] = {"model": "zerosnet20", "scheme": ["zerosnet(1/2)", "zerosnet(10)"], "seed": [1, 2]}
        recipe = {"name": "quick", "epochs": 2, "batch": BATCH}
        path.write_text(json.dumps({"grid": grid | {"dataset": "digits", "recipe": recipe}}))
    return ["sweep", str(path), "--replicas", "2", *SAVE, "--store", str(store)]


def reproduce_command(work: Path, store: Path) -> list[str]:
    return ["reproduce", "torture", *SAVE, "--store", str(store), "-o", str(store.with_suffix(".html"))]


def attack_command(work: Path, store: Path) -> list[str]:
    return ["attack", "s1", "s2", "--protocol", "paper-noise", "--device", "cpu", "--store", str(store)]


COMMANDS: dict[str, Callable[[Path, Path], list[str]]] = {
    "train": train_command,
    "attack": attack_command,
    "sweep": sweep_command,
    "reproduce": reproduce_command,
}


@dataclass
class Child:
    """A forked process at work on a command."""

    pid: int
    log: Path
    status: int | None = None

    def poll(self) -> bool:
        """Check if it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def wait(self, seconds: float) -> bool:
        """Wait for its end, at most so long; tell whether it has ended."""
        until = time.monotonic() + seconds
        while not self.poll() and time.monotonic() < until:
            time.sleep(0.002)
        return self.status is not None

    def kill(self) -> bool:
        """Send SIGKILL; tell whether that is what ended it."""
        if not self.poll():
            os.kill(self.pid, signal.SIGKILL)
            _, self.status = os.waitpid(self.pid, 0)
        return self.killed

    @property
    def killed(self) -> bool:
        return self.status is not None and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    @property
    def code(self) -> int | None:
        return os.WEXITSTATUS(self.status) if self.status is not None and os.WIFEXITED(self.status) else None

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def start(arguments: list[str], log: Path, prepare: Callable[[], object] = lambda: None, at_end: Any = None) -> Child:
    """Fork a child that runs a command; `prepare` puts faults into it, `at_end` is called after it."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return Child(pid, log)
    code = 70
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
        prepare()
        from zerosnet.cli.main import run

        code = run(arguments)
        if at_end is not None:
            at_end()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise AssertionError


def limit_files(size: int) -> None:
    """Have the kernel refuse to let a file grow beyond a size, in this process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def outcome(store: Path) -> dict[str, Any]:
    """Read how the runs of a store ended, without times: digests of weights, metrics, results, attacks, ablation."""
    found = {}
    for folder in sorted(path.parent for path in store.glob("*/spec.json")):
        reports = [*sorted(folder.glob("attacks/[!.]*.json")), *folder.glob("ablation.json")]
        found[folder.name] = {
            "weights": sha256(_content(folder / "weights.safetensors")).hexdigest(),
            "metrics": [_timeless(row) for row in _content(folder / "metrics.jsonl").splitlines()],
            "result": _timeless(_content(folder / "result.json")),
            "reports": {path.name: _timeless(_content(path)) for path in reports},
            "left": sorted(path.name for path in folder.iterdir() if ".tmp" not in path.name and path.name != "lock"),
        }
    return found


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _timeless(text: bytes) -> Any:
    """Read an object without its times; what is damaged stays as it is."""
    try:
        return {name: value for name, value in json.loads(text).items() if name not in TIMES}
    except (ValueError, AttributeError):
        return text


def difference(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Name what differs between two outcomes; empty if nothing does."""
    parts = [f"{len(ours)} runs, expected {len(theirs)}"] if set(ours) != set(theirs) else []
    for name in sorted(set(ours) & set(theirs)):
        parts += [f"{name}: {part}" for part in theirs[name] if ours[name][part] != theirs[name][part]]
    return "; ".join(parts)


def ended(store: Path) -> dict[str, tuple[int, int]]:
    """Identify the files of finished runs and measurements: a file that is written again has another number or time."""
    found = {}
    for result in store.glob("*/result.json"):
        for path in (result, result.with_name("weights.safetensors"), *result.parent.glob("attacks/[!.]*.json")):
            if path.exists():
                facts = path.stat()
                found[str(path)] = (facts.st_ino, facts.st_mtime_ns)
    return found


def remove(store: Path) -> None:
    shutil.rmtree(store, ignore_errors=True)
