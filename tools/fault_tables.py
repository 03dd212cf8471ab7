"""The table of faults that trainings have survived, from benchmarks/results/torture-*.json."""

from collections.abc import Callable
from typing import Any

from tools.markdown_tables import BENCHMARKS, benchmark, table

Record = dict[str, Any]


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


def _row(record: Record, case: str, title: str) -> tuple[str, ...]:
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


TABLES: dict[str, Callable[[], str]] = {"faults survived": survived}
VALUES: dict[str, Callable[[], str]] = {
    "kills survived": lambda: f"{benchmark('torture-cpu')['kills']:,}",
    "power states": lambda: f"{benchmark('torture-cpu')['flush_order']['states']:,}",
}
