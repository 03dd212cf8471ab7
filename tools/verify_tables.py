"""Tables and numbers about what was survived: faults, fuzzing, the siege of the explorer, the check of the records."""

from collections.abc import Callable
from functools import cache
from typing import Any

from tools.markdown_tables import BENCHMARKS, ROOT, benchmark, table
from zerosnet.experiments import Verification, verify_store

RUNS = ROOT / "results/runs"
_WITHOUT_GIT = ("runs", "identities", "journals", "results", "measurements", "data")
_OUTCOMES = {
    "done": ("exit code 0", "answered"),
    "refused as bad input": ("exit code 2", "refused"),
    "reported as a failure": ("exit code 1", "exit code 130"),
    "failures of ours": ("failure",),
}


def survived() -> str:
    """List every kind of fault: how often it struck, and how many stores ended as their undisturbed twins."""
    return table(("Fault", "Times", "Stores", "Ended as the undisturbed twin"), [*_on_cpu(), *_on_gpu()])


def _on_cpu() -> list[tuple[str, ...]]:
    """Make a row per kind of fault."""
    record = benchmark("torture-cpu")
    rows = [_row(record, case, f"`kill -9`: {_code(case)}") for case in record["kills_by_case"]]
    rows.append(_row(record, "full disk", "full disk, in the middle of a write"))
    rows.append(_row(record, "damaged file", "damaged, truncated or missing file"))
    rows.append(_row(record, "power cut", "power cut: what was not flushed is lost"))
    return rows


def _row(record: dict[str, Any], case: str, title: str) -> tuple[str, ...]:
    chains = [chain for chain in record["chains"] if chain["case"] == case]
    faults = sum(len(chain["faults"]) for chain in chains)
    same = sum(chain["failure"] is None for chain in chains)
    return (title, f"{faults:,}", f"{len(chains)}", f"{same}")


def _code(case: str) -> str:
    command, _, rest = case.partition(", ")
    return f"`{command}`, {rest}"


def _on_gpu() -> list[tuple[str, ...]]:
    """Make a row per number of networks trained as one; none before they were measured."""
    if not (BENCHMARKS / "torture-cuda.json").exists():
        return []
    rows: list[tuple[str, ...]] = []
    chains = benchmark("torture-cuda")["chains"]
    for replicas in sorted({chain["replicas"] for chain in chains}):
        mine = [chain for chain in chains if chain["replicas"] == replicas]
        networks = "1 network" if replicas == 1 else f"{replicas} networks as one"
        kills, same = sum(len(chain["kills"]) for chain in mine), sum(bool(chain["identical"]) for chain in mine)
        rows.append(
            (f"`kill -9`: `train` through our kernels on a GPU, {networks}", f"{kills}", f"{len(mine)}", f"{same}")
        )
    return rows


def fuzzed() -> str:
    """List the cases of the fuzzer by kind and outcome."""
    record = benchmark("fuzz-cpu")
    rows = []
    for kind, outcomes in record["outcomes"].items():
        numbers = (str(sum(outcomes.get(name, 0) for name in names)) for names in _OUTCOMES.values())
        rows.append((kind, str(sum(outcomes.values())), *numbers, f"{record['slowest_seconds'][kind]:.1f}"))
    return table(("Drawn", "Cases", *_OUTCOMES, "slowest, s"), rows)


def verdicts() -> str:
    """Compare verdicts on adversarial schemes with roots of 60 digits."""
    record = benchmark("fuzz-cpu")["numerics"]
    names = {
        "exact": "exact verdict of rational coefficients",
        "floats": "verdict of floats, `root_condition`",
        "classify": "verdict of floats, `classify` (up to 8 steps)",
    }
    kinds = ("right", "borderline", "wrong", "no reference")
    rows = [(words, *(str(record["verdicts"][name].get(kind, 0)) for kind in kinds)) for name, words in names.items()]
    return table(("", *kinds), rows)


def busy() -> str:
    """Compare epochs on idle cores with epochs beside other programs."""
    heads = ("Other processes", "Load before", "`train`, s per epoch", "`train --deterministic`, s per epoch")
    rows: dict[int, list[str]] = {}
    for case in benchmark("busy-cpu")["cases"]:
        row = rows.setdefault(case["others"], [str(case["others"]), str(case["load"])])
        row.append(f"{case['epoch_seconds']:.1f} (slowest {case['slowest_epoch_seconds']:.1f})")
    return table(heads, rows.values())


@cache
def _records() -> Verification:
    return verify_store(RUNS)


def checks() -> str:
    """Count the checks of the records, without those that need git: a copy need not have its history."""
    found = _records()
    rows = [(kind, str(found.checked[kind])) for kind in _WITHOUT_GIT]
    return table(("Checked", "Number"), [*rows, ("problems", str(len(found.problems)))])


def _soak(name: str) -> Callable[[], str]:
    return lambda: f"{benchmark('soak-cpu')[name]:,}"


TABLES: dict[str, Callable[[], str]] = {
    "faults survived": survived,
    "fuzzing": fuzzed,
    "verdicts against 60 digits": verdicts,
    "training on busy cores": busy,
    "checks of the records": checks,
}
VALUES: dict[str, Callable[[], str]] = {
    "kills survived": lambda: f"{benchmark('torture-cpu')['kills']:,}",
    "power states": lambda: f"{benchmark('torture-cpu')['flush_order']['states']:,}",
    "fuzz cases": lambda: f"{benchmark('fuzz-cpu')['cases']:,}",
    "fuzz failures": lambda: str(len(benchmark("fuzz-cpu")["failures"])),
    "fuzz schemes": lambda: f"{benchmark('fuzz-cpu')['numerics']['schemes']:,}",
    "soak requests": _soak("requests"),
    "soak clients": _soak("clients"),
    "soak seconds": lambda: f"{benchmark('soak-cpu')['seconds']:.0f}",
    "soak failures": lambda: str(len(benchmark("soak-cpu")["failures"])),
    "soak refused": lambda: f"{benchmark('soak-cpu')['outcomes']['hostile, refused']:,}",
    "soak right": lambda: f"{benchmark('soak-cpu')['outcomes']['right']:,}",
    "soak slow": _soak("slow"),
    "soak half-open": _soak("half_open"),
    "soak memory": lambda: str(benchmark("soak-cpu")["memory_megabytes"][-1]),
    "soak growth": lambda: f"{benchmark('soak-cpu')['memory_growth_megabytes']:.1f}",
}
