"""Run the named benchmarks (all that this machine can run by default) and store what they measured.

python -m benchmarks                     every benchmark that this machine can run
python -m benchmarks numerics models     these
python -m benchmarks training --only K=10   the cases whose names contain this
python -m benchmarks imagenet --only 18     the networks with so many layers
python -m benchmarks training --compile  only fill the compiler's cache, so that a later run starts at once
python -m benchmarks --list

A benchmark of cases stores every one of them when it is done, in NAME.partial.json until the last: the same command on
the same machine goes on from there.
"""

import argparse
import importlib
import re
import sys
from pathlib import Path

import torch

from benchmarks.record import begun, command, keep
from zerosnet.environment import environment

BENCHMARKS = {
    "numerics": "root condition, exact and batched, and stability regions, beside NodePy",
    "models": "step time and memory of ZeroSNet against PreResNet",
    "kernels": "every kernel of the native step beside its memory floor (CUDA)",
    "torture": "kills, full disks, damaged files and power cuts; every run beside its undisturbed twin",
    "robustness": "the paper's noises and PGD-20 on ten networks, fused against one by one (CUDA)",
    "diagnose": "other people's networks: seconds of a diagnosis, and shares predicted at initialisation",
    "explorer": "from the movement of a slider to the page drawn, in Chromium",
    "imagenet": "images a second of 50-layer networks: compute, beside timm's, and from JPEG files (CUDA)",
    "decode": "what a worker takes for a JPEG file: decoding, resizing, copying",
    "parts": "what compiler, CUDA graph, flat update and fusing give the plain engine (CUDA)",
    "fuzz": "ten thousand command lines and calls drawn by a fuzzer, and schemes against 60-digit roots",
    "soak": "the explorer under two hundred clients, slow and silent ones, and hostile queries",
    "busy": "plain CPU training beside other programs that use the cores",
    "start": "from the command to the first step of a training, cold and warm",
    "others": "networks of 164 and 326 layers and of MNIST, which have no kernels of our own (CUDA)",
    "streams": "networks of several streams, our kernels beside plain PyTorch (CUDA)",
    "training": "seconds per epoch and network, alone and fused, against the authors' way (CUDA)",
}
CASES = ("training", "others", "streams", "imagenet")  # those whose cases can be chosen
COMPILED = ("models", *CASES)  # those that torch's compiler works for
RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"one or more of {', '.join(BENCHMARKS)}")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and leave")
    parser.add_argument("--only", default="", help="cases of training, others and streams, by part of a name; layers")
    parser.add_argument("--compile", action="store_true", help=f"only fill the compiler's cache: {', '.join(COMPILED)}")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result files")
    options = parser.parse_args(arguments)
    if options.list:
        for name, what in BENCHMARKS.items():
            print(f"{name:10} {what}")
        return 0
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    if options.only and options.names not in ([name] for name in CASES):
        parser.error(f"--only is for one of {', '.join(CASES)}")
    if options.compile and (not options.names or set(options.names) - set(COMPILED)):
        parser.error(f"--compile is for {', '.join(COMPILED)}")
    options.out.mkdir(parents=True, exist_ok=True)
    complete = True
    for name in options.names or BENCHMARKS:
        print(f"== {name}: {BENCHMARKS[name]}", flush=True)
        module = importlib.import_module(f"benchmarks.{name}")
        if options.compile:
            if torch.cuda.is_available():
                module.compile_ahead(options.only)
            else:
                print("   skipped: no CUDA device")
            continue
        facts = {"command": command(name, options.only, getattr(module, "FOLDERS", ())), "environment": environment()}
        path = options.out / f"{name}{module.suffix() if hasattr(module, 'suffix') else ''}{_part(options.only)}.json"
        before = (begun(path, facts),) if hasattr(module, "CASES") else ()
        measured = module.run(options.only, *before) if options.only or before else module.run()
        if isinstance(measured, dict) and "skipped" in measured:
            print(f"   skipped: {measured['skipped']}")
            continue
        written = keep(path, facts, measured)
        complete &= written == path
        print(f"   written to {written}")
    return 0 if complete else 1


def _part(only: str) -> str:
    """Return the part of a file's name that tells some cases from all."""
    return "-" + re.sub(r"[^\w.]+", "-", only).strip("-") if only else ""


if __name__ == "__main__":
    sys.exit(main())
