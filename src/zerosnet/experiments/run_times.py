"""Makes run_times.json, which the table of run times reads, of steps that the benchmark timed in turns on a GPU.

python -m zerosnet.experiments.run_times benchmarks/results/models-cuda.json
"""

import json
import sys
from pathlib import Path
from typing import Any

from zerosnet.experiments.paper.other import RUN_TIMES

_DEPTH = 20  # of the networks that the paper timed
_KEPT = ("mode", "batch", "preresnet_ms", "zerosnet_ms", "ratio")


def to_store(result: dict[str, Any]) -> dict[str, Any]:
    """The GPU's name, and a row for every mode and batch size."""
    (gpu,) = result["environment"]["gpu"]["names"]
    rows = [{key: row[key] for key in _KEPT} for row in result["rows"] if row["depth"] == _DEPTH]
    return {"gpu": gpu, "rows": rows}


if __name__ == "__main__":
    text = json.dumps(to_store(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))), indent=1)
    (Path(__file__).parent / "paper" / RUN_TIMES).write_text(text + "\n", encoding="utf-8")
