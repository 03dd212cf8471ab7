"""Write the sweep of networks without normalisation, at the learning rate that its search found best.

    python -m tools.make_sweeps

`results/sweeps/README.md` has the rules of all sweeps. The other files are written; they stay as they are, since
predictions of their runs are on record.
"""

import json
from pathlib import Path
from statistics import mean
from typing import Any

from zerosnet.training import RunSpec

RESULTS = Path(__file__).parents[1] / "results"
SEARCH, SWEEP = (RESULTS / f"sweeps/{name}.json" for name in ("no-norm-search", "no-norm"))


def best_rate(search: list[dict[str, Any]]) -> float | None:
    """Choose the rate of the best mean validation accuracy over all five schemes; None before the search has ended."""
    found: dict[float, list[float]] = {}
    for one in search:
        result = RESULTS / "runs" / RunSpec.from_json(one).id / "result.json"
        if not result.exists():
            return None
        accuracy = json.loads(result.read_text()).get("validation_accuracy") or 0.0
        found.setdefault(one["recipe"]["lr"], []).append(accuracy)
    return max(found, key=lambda lr: mean(found[lr]))


def main() -> None:
    search = json.loads(SEARCH.read_text())["specs"]
    rate = best_rate(search)
    if rate is None or SWEEP.exists():
        print("nothing to write: the search has not ended" if rate is None else f"{SWEEP} is written already")
        return
    chosen = [one for one in search if one["recipe"]["lr"] == rate]
    specs = [{k: v for k, v in one.items() if k != "validation"} for one in chosen]
    for one in specs:
        one["recipe"] = {"name": "paper", "lr": rate}
    SWEEP.write_text(json.dumps({"specs": specs}, indent=1) + "\n")
    print(f"{SWEEP}: {len(specs)} runs")


if __name__ == "__main__":
    main()
