"""From the command to the first step: the start of `zerosnet train`, in a process of its own, cold and warm.

Cold is the first call on a machine: empty caches of our kernels and of torch's compiler. Warm is the call after it.
Files may be in the system's cache in both, and PyTorch's compiled Python files are there: this process imports it.
On a GPU the images are those of CIFAR-10 in $ZEROSNET_DATA, or of the embedded digits, which get the plain engine only.
Other programs on the cores lengthen the seconds, hardly the CPU time; `load` is how many ran in the last minute.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.record import by_device

FOLDERS = ("ZEROSNET_DATA",)
LINE = re.compile(r"start: ([\d.]+) s \((.*)\), CPU time ([\d.]+) s")
suffix = by_device


def run() -> dict[str, Any]:
    data = os.environ.get("ZEROSNET_DATA")
    on_gpu = torch.cuda.is_available()
    cifar = bool(on_gpu and data)
    arguments = ["zerosnet56_opt", "--recipe", "paper", "--dataset", "cifar10", "--data", str(data)] if cifar else []
    arguments = arguments or ["zerosnet20_opt", "--recipe", "quick", "--dataset", "digits"]
    engines = (["native"] if cifar else []) + ["torch"]
    return {
        "arguments": arguments[:5],
        "cases": [case for engine in engines for case in _cold_and_warm(engine, arguments)],
    }


def _cold_and_warm(engine: str, arguments: list[str]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        caches = {
            name: str(Path(folder) / name) for name in ("ZEROSNET_CACHE", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
        }
        caches["CUDA_CACHE_PATH"] = str(Path(folder) / "cuda")
        return [
            _start(engine, arguments, Path(folder) / call, caches) | {"call": call}
            for call in ("cold", "warm", "again")
        ]


def _start(engine: str, arguments: list[str], store: Path, caches: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "zerosnet", "train", *arguments, "--kernels", engine, "--epochs", "1"]
    begin = time.monotonic()
    done = subprocess.run(
        [*command, "--store", str(store), "--profile-start"],
        env={**os.environ, **caches},
        capture_output=True,
        text=True,
    )
    whole = time.monotonic() - begin
    found = LINE.search(done.stderr)
    if found is None:
        raise RuntimeError(f"{engine}: no start was printed\n{done.stderr[-2000:]}")
    parts = {name: float(seconds) for name, _, seconds in (part.rpartition(" ") for part in found[2].split(", "))}
    case = {"engine": engine, "start_seconds": float(found[1]), "cpu_seconds": float(found[3]), "parts": parts}
    case |= {"command_seconds": round(whole, 1), "load": round(os.getloadavg()[0], 1)}
    print(f"   {engine:8} {case['start_seconds']:5.1f} s to the first step, {whole:5.1f} s in all  {parts}", flush=True)
    return case
