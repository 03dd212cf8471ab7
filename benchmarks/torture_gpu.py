"""Kill trainings by SIGKILL and continue them: every run must end as its uninterrupted twin did, to the bit.

python -m benchmarks.torture_gpu --out DIR        DIR/torture-cuda.json; DIR/torture-cuda.partial.json if it is cut
python -m benchmarks.torture_gpu --device cpu --chains 1 --images 256 --epochs 2 --out DIR

Real processes, `python -m zerosnet train`, on seeded pictures of 32 x 32 pixels, which our kernels accept. The twins
are trained once, one network alone and ten as one. Then chains of kills run side by side, each in a store of its own: a
kill comes when a checkpoint past a drawn step is there, or at a drawn second after the start; the same command goes on.
"""

import argparse
import itertools
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.record import keep
from benchmarks.torture.children import difference, outcome
from zerosnet.environment import environment

REPLICAS = {1: 4, 10: 1}  # networks trained as one, and how many times --epochs: one alone is faster
BATCH = 128
KINDS = ("step", "second", "step")  # what the kills of a chain wait for, in turn
START = 8.0  # seconds; kills of kind "second" come in this time after the start
KEPT = ("replicas", "seed", "kills", "identical", "failure")  # of a chain, in the record
JITTER = 0.1  # seconds; the longest that a kill waits after the checkpoint it waited for


@dataclass(frozen=True)
class Setting:
    """What is trained, where, and until when."""

    device: str
    folder: Path
    images: int
    epochs: int
    patience: float
    deadline: float

    def steps(self, replicas: int) -> int:
        return self.images // BATCH * self.epochs * REPLICAS[replicas]

    def arguments(self, replicas: int, store: Path, data: Path) -> list[str]:
        """Return the command of a training of this many networks as one."""
        seeds = [word for seed in range(1, replicas + 1) for word in ("--seed", str(seed))]
        engine = ["--kernels", "native"] if self.device.startswith("cuda") else ["--deterministic"]
        chosen = ["--recipe", "quick", "--epochs", str(self.epochs * REPLICAS[replicas]), "--batch", str(BATCH), *seeds]
        where = ["--device", self.device, *engine, "--checkpoint-every", "0.1s", "--store", str(store)]
        return ["train", "zerosnet20_opt", "--dataset", "folder", "--data", str(data), *chosen, *where]

    def start(self, replicas: int, name: str) -> subprocess.Popen[bytes]:
        store = self.folder / name
        command = [sys.executable, "-m", "zerosnet", *self.arguments(replicas, store, self.folder / "pictures")]
        threads = os.environ | {"OMP_NUM_THREADS": "1"}
        with (self.folder / f"{name}.txt").open("ab") as log:
            return subprocess.Popen(command, env=threads, stdout=subprocess.DEVNULL, stderr=log)


@dataclass
class Chain:
    """A training, the kills it has met, and how it ended."""

    name: str
    replicas: int
    seed: int
    wanted: int
    kills: list[dict[str, Any]] = field(default_factory=list)
    identical: bool | None = None
    failure: str | None = None
    ended: bool = False


class Cut(Exception):
    """The time for the whole has run out."""


def write_pictures(folder: Path, images: int, classes: int = 10) -> None:
    """Write a seeded data set as a folder of PNG files: a pattern per class, and noise."""
    import numpy as np
    from PIL import Image

    drawn = np.random.default_rng(2024)
    patterns = drawn.uniform(64, 192, (classes, 4, 4, 3)).repeat(8, axis=1).repeat(8, axis=2)
    for part, count in (("train", images), ("test", max(images // 5, classes))):
        for k in range(count):
            place = folder / part / f"class{k % classes}"
            place.mkdir(parents=True, exist_ok=True)
            picture = (patterns[k % classes] + drawn.normal(0, 48, (32, 32, 3))).clip(0, 255)
            Image.fromarray(picture.astype(np.uint8)).save(place / f"{k:05d}.png", compress_level=1)


def kernels(store: Path) -> list[str]:
    """List what has computed the runs of a store, restarts included."""
    records = [json.loads(path.read_text()) for path in store.glob("*/environment.json")]
    return sorted({str(part.get("kernels")) for record in records for part in (record, *record.get("earlier", []))})


def position(store: Path) -> int:
    """Find the newest step that a checkpoint of the store has."""
    return max((int(path.stem) for path in store.glob("*/checkpoints/0*.safetensors")), default=0)


def begun(store: Path, since: float) -> bool:
    """Check if a process that was started then has come to its training."""
    for path in store.glob("*/environment.json"):
        try:
            if path.stat().st_mtime >= since:
                return True
        except FileNotFoundError:
            continue
    return False


def finish(setting: Setting, process: subprocess.Popen[bytes], until: float) -> int | None:
    """Wait for a process; its exit code, or None if it was still there at that time. Raise `Cut` past the deadline."""
    while (code := process.poll()) is None and time.time() < until:
        if time.time() > setting.deadline:
            process.kill()
            process.wait()
            raise Cut
        time.sleep(0.02)
    return code


def attempt(setting: Setting, chain: Chain, kind: str, drawn: random.Random) -> int | None:
    """Start a chain's training and kill it at a drawn moment; None if it was killed, its exit code if it had ended."""
    store, since = setting.folder / chain.name, time.time()
    step, second, jitter = (
        drawn.randrange(setting.steps(chain.replicas) * 5 // 6),
        drawn.uniform(0.2, START),
        drawn.uniform(0, JITTER),
    )
    process = setting.start(chain.replicas, chain.name)
    moment, code = since + second, None
    while kind == "step" and code is None and time.time() < since + setting.patience:
        if begun(store, since) and position(store) >= step:
            moment = time.time() + jitter
            break
        code = finish(setting, process, time.time() + 0.01)
    if code is None:
        code = finish(setting, process, moment)
    if code is None:
        trains = begun(store, since)
        process.kill()
        process.wait()
        wish = {"step": step} if kind == "step" else {"second": round(second, 2)}
        chain.kills.append({"wish": wish, "in_training": trains, "checkpoint": position(store)})
    return code


def torture(setting: Setting, chain: Chain, twins: dict[int, dict[str, Any]]) -> None:
    """Kill a training as often as wanted, let it end, and compare it with its twin."""
    drawn = random.Random(chain.seed)
    code = None
    for kind in itertools.islice(itertools.cycle(KINDS), chain.wanted):
        code = attempt(setting, chain, kind, drawn)
        if code is not None:
            break
    if code is None:
        process = setting.start(chain.replicas, chain.name)
        code = finish(setting, process, time.time() + setting.patience)
        if code is None:
            process.kill()
            process.wait()
    if code != 0:
        tail = (setting.folder / f"{chain.name}.txt").read_text(errors="replace")[-600:]
        chain.failure = (
            f"the command did not end in {setting.patience:g} s" if code is None else f"exit code {code}: {tail}"
        )
        return
    while chain.replicas not in twins:
        if time.time() > setting.deadline:
            raise Cut
        time.sleep(0.05)
    differs = difference(outcome(setting.folder / chain.name), twins[chain.replicas])
    chain.identical = not differs
    chain.failure = f"differs from its twin: {differs}" if differs else None


def _work(setting: Setting, chain: Chain, twins: dict[int, dict[str, Any]]) -> None:
    try:
        torture(setting, chain, twins)
    except Cut:
        return
    except Exception as error:
        chain.failure = f"{type(error).__name__}: {error}"
    chain.ended = True


def _twin(setting: Setting, replicas: int, twins: dict[int, dict[str, Any]], problems: list[str]) -> None:
    name = f"twin-{replicas}"
    try:
        code = finish(setting, setting.start(replicas, name), setting.deadline)
        twins[replicas] = outcome(setting.folder / name)
    except (Cut, OSError, ValueError) as error:
        tail = (setting.folder / f"{name}.txt").read_text(errors="replace")[-600:]
        problems.append(f"twin of {replicas}: {type(error).__name__}; {tail}")
        return
    if code != 0:
        problems.append(f"twin of {replicas}: exit code {code}")


def run(setting: Setting, chains: list[Chain]) -> Iterator[dict[str, Any]]:
    """Train the twins, then torture all chains side by side; yield the record whenever it has grown."""
    began = time.time()
    twins: dict[int, dict[str, Any]] = {}
    problems: list[str] = []
    wanted = sorted({chain.replicas for chain in chains})
    threads = [threading.Thread(target=_twin, args=(setting, k, twins, problems), daemon=True) for k in wanted]
    for thread in threads:
        thread.start()
    # until then the kernels are compiled
    while not all(begun(setting.folder / f"twin-{k}", began - 1) for k in wanted) and not problems:
        if time.time() > setting.deadline:
            break
        time.sleep(0.1)
    started = time.time()
    for chain in chains:
        threads.append(threading.Thread(target=_work, args=(setting, chain, twins), daemon=True))
        threads[-1].start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.5)
        yield _record(setting, chains, problems, began, started)
    yield _record(setting, chains, problems, began, started)


def _record(setting: Setting, chains: list[Chain], problems: list[str], began: float, started: float) -> dict[str, Any]:
    kills = [kill for chain in chains for kill in chain.kills]
    stores = [
        setting.folder / name
        for name in (*(chain.name for chain in chains), *(f"twin-{replicas}" for replicas in REPLICAS))
    ]
    engines = sorted({name for store in stores for name in kernels(store)})
    if setting.device.startswith("cuda") and set(engines) - {"native"}:
        problems = [*problems, f"computed by {', '.join(engines)}; expected native only"]
    failures = [*problems, *(f"{chain.name}: {chain.failure}" for chain in chains if chain.failure)]
    return {
        "device": setting.device,
        "kernels": engines,
        "training": shlex.join(setting.arguments(1, Path("DIR"), Path("DIR"))),
        "steps": {str(replicas): setting.steps(replicas) for replicas in REPLICAS},
        "kills": len(kills),
        "kills_in_training": sum(kill["in_training"] for kill in kills),
        "identical": sum(bool(chain.identical) for chain in chains),
        "failures": failures,
        "chains": [{name: getattr(chain, name) for name in KEPT} for chain in chains],
        "seconds_to_first_training": round(started - began, 1),
        "seconds": round(time.time() - began, 1),
        "left_out": [chain.name for chain in chains if not chain.ended],
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture_gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the record")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--chains", type=int, default=5, help="chains of one network, and as many of ten")
    parser.add_argument("--kills", type=int, default=3, help="kills per chain")
    parser.add_argument("--images", type=int, default=2560)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=75.0, help="the seconds that one process may take")
    parser.add_argument("--seconds", type=float, default=120.0, help="the time for the whole")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    deadline = time.time() + given.seconds
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(given.device, Path(folder), given.images, given.epochs, given.patience, deadline)
        write_pictures(Path(folder) / "pictures", given.images)
        numbers = itertools.count(given.seed)
        chains = [
            Chain(f"{replicas}-{k}", replicas, next(numbers), given.kills)
            for k in range(given.chains)
            for replicas in REPLICAS
        ]
        name = "torture-cuda" if given.device.startswith("cuda") else "torture-processes"
        written = keep(given.out / f"{name}.json", _facts(given), run(setting, chains))
        record = json.loads(written.read_text())
        for log in sorted(Path(folder).glob("*.txt")) if record["failures"] else []:
            shutil.copy(log, given.out / f"torture-{log.name}")
    print(f"{record['kills']} kills, {record['identical']} of {len(chains)} chains identical, {record['seconds']} s")
    print("\n".join(record["failures"]) or f"no failure; written to {written}")
    return 1 if record["failures"] or record["left_out"] else 0


def _facts(given: argparse.Namespace) -> dict[str, Any]:
    options = ["--chains", given.chains, "--kills", given.kills, "--images", given.images, "--epochs", given.epochs]
    words = ["--device", given.device, *map(str, options), "--seed", str(given.seed)]
    return {"command": shlex.join(["python", "-m", "benchmarks.torture_gpu", *words]), "environment": environment()}


if __name__ == "__main__":
    sys.exit(main())
