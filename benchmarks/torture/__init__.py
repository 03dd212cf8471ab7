"""Kill, starve and damage the commands, and compare what they end with: it must be what they end with undisturbed.

Every case draws its faults from seeds 0, 1, 2, ... until it has had as many as planned. A chain is one store: faults,
one after the other, the command itself continuing it; then its end, to the bit that of its undisturbed twin; then one
more call, which must change nothing. Files of a run that has ended must never change.
"""

import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.record import on_cpu
from benchmarks.torture import children
from benchmarks.torture.chains import FAULTS, Twin, make_twin, torture
from benchmarks.torture.damage import damage
from benchmarks.torture.power import changes_of, cut, states
from zerosnet.environment import usable_cores

DAMAGE, POWER, FULL = "damaged file", "power cut", "full disk"
PLAN = {
    "train, at random moments": 220,
    "train, in the middle of a write": 300,
    "sweep, two processes on one store": 160,
    "sweep, in the middle of a write": 80,
    "reproduce, at random moments": 90,
    "reproduce, in the middle of a write": 70,
    "attack, at random moments": 60,
    "attack, in the middle of a write": 60,
    FULL: 100,
    DAMAGE: 108,
    POWER: 24,
}
CASES = tuple(PLAN)
LOTS = 20  # drawn states of the disk at every change
_SHARED: dict[str, Any] = {}  # what forked workers find: work folder, twins, changes
suffix = on_cpu


def run(
    only: str = "", before: Mapping[str, Any] | None = None, plan: Mapping[str, int] = PLAN
) -> Iterator[dict[str, Any]]:
    """Torture the commands as planned; yield the record whenever it has grown."""
    began = time.monotonic() - (before or {}).get("seconds", 0)
    done: list[dict[str, Any]] = list((before or {}).get("chains", []))
    children.warm_up()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        twins: dict[str, Twin] = {}
        for command in children.COMMANDS:
            twins[command] = make_twin(command, work)
        root, events = changes_of(work, twins)
        flushes = states(root, events, LOTS)
        _SHARED.update(work=work, twins=twins, root=root, events=events)
        with ProcessPoolExecutor(usable_cores(), mp_context=get_context("fork")) as pool:
            for chain in _chains(pool, plan, done):
                done.append(chain)
                yield _record(plan, done, flushes, time.monotonic() - began)
    yield _record(plan, done, flushes, time.monotonic() - began)


def _chains(pool: ProcessPoolExecutor, plan: Mapping[str, int], done: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Work on all cases in turn, one chain per worker at a time, until each has had its faults."""
    waiting: set[Future[dict[str, Any]]] = set()
    for case, wanted in plan.items():
        used = {chain["seed"] for chain in done if chain["case"] == case}
        seeds = (seed for seed in range(wanted * 10) if seed not in used)
        while _count(done, case) + sum(_CASE[future] == case for future in waiting) < wanted:
            future = pool.submit(_work, case, next(seeds))
            _CASE[future] = case
            waiting.add(future)
            if len(waiting) > usable_cores():
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for one in ended:
                    yield _brief(one.result())
    for one in waiting:
        yield _brief(one.result())


_CASE: dict[Future[dict[str, Any]], str] = {}


def _work(case: str, seed: int) -> dict[str, Any]:
    """Make one chain, in a worker."""
    work, twins = _SHARED["work"], _SHARED["twins"]
    try:
        if case == DAMAGE:
            return damage(seed, work, twins)
        if case == POWER:
            return cut(seed, work, twins, _SHARED["root"], _SHARED["events"])
        return torture(case, seed, work, twins)
    except Exception:  # counts as a failure, and does not end the others
        return {"case": case, "seed": seed, "faults": [], "failure": traceback.format_exc()[-800:]}


def _brief(chain: dict[str, Any]) -> dict[str, Any]:
    """Write the faults of a chain as one line each, and report it."""
    faults = [", ".join(f"{name} {value}" for name, value in fault.items()) for fault in chain["faults"]]
    end = chain["failure"] or "the same end"
    print(
        f"   {chain['case']}, seed {chain['seed']}: {len(faults)} faults; {end}",
        flush=True,
    )
    return {**chain, "faults": faults}


def _count(done: list[dict[str, Any]], case: str) -> int:
    return sum(len(chain["faults"]) for chain in done if chain["case"] == case)


def _record(
    plan: Mapping[str, int], done: list[dict[str, Any]], flushes: dict[str, Any], seconds: float
) -> dict[str, Any]:
    counts = {case: _count(done, case) for case in plan}
    kills = {case: count for case, count in counts.items() if case in FAULTS and case != FULL}
    files = Counter(
        fault.split(",")[0].removeprefix("file ")
        for chain in done
        if chain["case"].endswith("of a write")
        for fault in chain["faults"]
    )
    wrong = [{"case": "order of flushes", "failure": what} for what in flushes["wrong"]]
    return {
        "kills": sum(kills.values()),
        "full_disks": counts.get(FULL, 0),
        "damaged_files": counts.get(DAMAGE, 0),
        "power_cuts": counts.get(POWER, 0),
        "identical": sum(chain["failure"] is None for chain in done),
        "failures": [chain for chain in done if chain["failure"]] + wrong,
        "kills_by_case": kills,
        "kills_in_the_middle_of": dict(files.most_common()),
        "flush_order": {"states": flushes["states"], "changes": flushes["changes"], "wrong": len(flushes["wrong"])},
        "seeds": {case: sum(chain["case"] == case for chain in done) for case in plan},
        "seconds": round(seconds, 1),
        "chains": sorted(done, key=lambda chain: (list(plan).index(chain["case"]), chain["seed"])),
    }
