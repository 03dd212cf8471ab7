"""Find the schemes with the most effective depth for networks of 56 to 1298 layers; about half a minute.

    python -m tools.depth_designs

The record goes to results/depth-designs.json; `tools/page_numbers.py` makes the table of docs/law.md from it.
"""

import json
from pathlib import Path

from zerosnet.numerics import EULER, OPTIMUM, Wiring, blocks_of, design_by_depth

RECORD = Path(__file__).parents[1] / "results" / "depth-designs.json"
LAYERS = (56, 110, 326, 1298)
DESIGNS = ((2, 1), (3, 1), (3, 2), (4, 1))
"""(steps, order)"""


def row(layers: int) -> dict:
    blocks = blocks_of(layers)
    return {
        "layers": layers,
        "blocks": sum(blocks),
        "euler": Wiring.of(EULER, blocks).effective_depth(),
        "optimum": Wiring.of(OPTIMUM, blocks).effective_depth(),
        "designs": [design_by_depth(steps, blocks, order).to_json() for steps, order in DESIGNS],
    }


def main() -> None:
    record = {"command": "python -m tools.depth_designs", "rows": [row(layers) for layers in LAYERS]}
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
