"""Tables and numbers about what was survived: fuzzing, the siege of the explorer, and the check of the records."""

from collections.abc import Callable
from functools import cache

from tools.markdown_tables import ROOT, benchmark, table
from zerosnet.experiments import Verification, verify_store

RUNS = ROOT / "results/runs"
_WITHOUT_GIT = ("runs", "identities", "journals", "results", "measurements", "data")
_OUTCOMES = {
    "done": ("exit code 0", "answered"),
    "refused as bad input": ("exit code 2", "refused"),
    "reported as a failure": ("exit code 1", "exit code 130"),
    "failures of ours": ("failure",),
}


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
    "fuzzing": fuzzed,
    "verdicts against 60 digits": verdicts,
    "training on busy cores": busy,
    "checks of the records": checks,
}
VALUES: dict[str, Callable[[], str]] = {
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
