"""Compare the ranks of a short training with those of the whole one, and draw what was screened over the disc of roots.

    python -m tools.screening [MAP.png] [STORE ...]

The records are those in results/runs, or in the stores that are given. Train first:

    zerosnet sweep results/sweeps/screen-known.json --data DIR --store STORE      # 94 runs
    zerosnet sweep results/sweeps/screen-map.json --data DIR --store STORE        # 192 runs

For the page the map is docs/images/screening.png.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.markdown_tables import ROOT, table
from tools.run_tables import evidence
from zerosnet.errors import InputError
from zerosnet.experiments import (
    Agreement,
    Correlation,
    Evidence,
    agreement,
    ranks_by_epoch,
    read_evidence,
    screened_networks,
    screened_pairs,
    spearman,
)
from zerosnet.numerics import accuracy_of_pairs
from zerosnet.report import save_figure, screening_map
from zerosnet.training import Store

WORST = 5  # rank errors that are named
EPOCHS = (1, 4, 8, 12, 16, 40, 80, 85, 120)
PICTURE = "images/screening.png"


def page_section() -> str:
    """Write the section of the page; nothing until a network has been screened."""
    return section(evidence(), has_picture=(ROOT / "docs" / PICTURE).exists())


def section(found: Evidence, *, has_picture: bool = False) -> str:
    """Write what is known from some records: ranks, the largest rank errors, and the map."""
    networks = screened_networks(found)
    if not any(one.short for one in networks):
        return ""
    known, pairs = agreement(networks), screened_pairs(networks)
    parts = [
        "## Screening",
        "Recipe `screen` is `paper` in 12 epochs. Rank correlations over networks of 56 layers, best test epoch:",
        correlations(known, pairs),
    ]
    if known.errors:
        parts += ["The largest rank errors (place 1 is the best):", rank_errors(known)]
    parts += ["The whole training, had it been stopped early: its best epoch so far against its end:", by_epoch(found)]
    if has_picture:
        parts.append(f"![Measured accuracy over the disc of roots beside the law's map]({PICTURE})")
    return "\n\n".join(parts)


def correlations(known: Agreement, pairs: Sequence[tuple[complex, float]]) -> str:
    predicted = accuracy_of_pairs([root for root, _ in pairs]).tolist() if pairs else []
    rows = {
        "screening (mean of seeds) with 160 epochs": known.both,
        "screening, first seed, with 160 epochs": known.one_seed,
        "160 epochs, one seed with another": known.whole_seeds,
        "screening, one seed with another": known.short_seeds,
        "screening with the law, over the disc of roots": spearman([accuracy for _, accuracy in pairs], predicted),
    }
    return table(["Ranks", "Correlation", "Networks"], [[name, *_cells(one)] for name, one in rows.items()])


def _cells(found: Correlation | None) -> tuple[str, str]:
    return ("", "") if found is None else (f"{found.rho:.2f}", str(found.n))


def rank_errors(known: Agreement) -> str:
    rows = []
    for error in known.errors[:WORST]:
        places = [f"{place:g}" for place in (error.short, error.whole)]
        rows.append([f"`{error.network.label}`", *places, f"{error.points:+.2f}"])
    return table(["Network", "Screening", "160 epochs", "Points below the network whose place it took"], rows)


def by_epoch(found: Evidence) -> str:
    ranks = ranks_by_epoch(found, EPOCHS)
    heads = ["Epochs", *map(str, ranks)]
    return table(heads, [["Rank correlation", *(_cells(one)[0] for one in ranks.values())]])


TABLES: dict[str, Callable[[], str]] = {"screening": page_section}


def main(*arguments: str) -> int:
    pictures = [word for word in arguments if Path(word).suffix in (".png", ".svg", ".pdf")]
    stores = [Store(word) for word in arguments if word not in pictures]
    found = read_evidence(stores) if stores else evidence()
    print(section(found) or "no network has been screened")
    try:
        for picture in pictures:
            save_figure(screening_map(screened_pairs(screened_networks(found))), Path(picture))
    except InputError as error:
        print(f"screening: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
