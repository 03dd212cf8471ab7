"""Compare the ranks of a short training with those of the whole one, and draw what was screened over the disc of roots.

    python -m tools.screening [MAP.png] [STORE ...]

The records are those in results/runs and in the stores that are given. Train first:

    zerosnet sweep results/sweeps/screen-known.json --data DIR --store STORE      # 94 runs
    zerosnet sweep results/sweeps/screen-later.json --data DIR --store STORE      # 22 runs
    zerosnet sweep results/sweeps/screen-map.json --data DIR --store STORE        # 192 runs
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from tools.markdown_tables import ROOT, table
from tools.run_tables import evidence
from zerosnet.errors import InputError
from zerosnet.experiments import (
    Agreement,
    Correlation,
    Evidence,
    Screened,
    agreement,
    ranks_by_epoch,
    read_evidence,
    screened_networks,
    screened_pairs,
    spearman,
)
from zerosnet.numerics import accuracy_of_pairs, forecast, load_law
from zerosnet.report import save_figure, screening_map
from zerosnet.training import Store, read_sweep

KNOWN = ROOT / "results/runs"
LAYERS = 56
KINDS = ("all", "zero-stable", "not zero-stable")
EXACT = 1e-9  # distances of roots from circle and axis below this are none
WORST = 5  # rank errors that are named
EPOCHS = (1, 4, 8, 12, 16, 40, 80, 85, 120)
PICTURE = "images/screening.png"


def page_section() -> str:
    """Write the section of the page; nothing until a network has been screened."""
    return section(evidence(), has_picture=(ROOT / "docs" / PICTURE).exists(), results=ROOT / "results")


def section(found: Evidence, *, has_picture: bool = False, results: Path | None = None) -> str:
    """Write what is known from some records: ranks, the largest rank errors, and the map.

    `results` is the folder with the predictions that were registered before the screening.
    """
    networks = screened_networks(found)
    if not any(one.short for one in networks):
        return ""
    known, pairs = agreement(networks), screened_pairs(networks)
    parts = ["## Screening", *_summary(known, networks)]
    if pairs:
        parts += ["Over the disc of roots, ranks of schemes with one pair of parasitic roots have these correlations:"]
        parts += [over_the_disc(pairs), *_registered(results)]
    if has_picture:
        parts.append(f"![Measured accuracy over the disc of roots beside the law's map]({PICTURE})")
    parts += ["How well short trainings rank, beside how well one seed ranks as another:", correlations(networks)]
    if known.errors:
        parts += ["The largest rank errors (place 1 is the best):", rank_errors(known), *_reason(known)]
    parts += ["The whole training, had it been stopped early: its best epoch so far against its end:", by_epoch(found)]
    return "\n\n".join(parts)


def _summary(known: Agreement, networks: Sequence[Screened]) -> list[str]:
    what = "Recipe `screen` is `paper` in 12 epochs."
    if known.both is None:
        return [what]
    lost = [one.label for one in networks if not one.short and not one.whole]
    told = f"Its ranks of {known.networks} networks of 56 layers have a correlation of {known.both.rho:.2f} with those"
    diverged = f" Diverged, and not counted: {', '.join(f'`{name}`' for name in lost)}." if lost else ""
    return [f"{what} {told} of 160 epochs (best test epoch).{diverged}"]


def correlations(networks: Sequence[Screened]) -> str:
    """List rank correlations: of all networks, of those clear of the threshold of survival, and between seeds."""
    near = [one for one in networks if is_near(one)]
    clear = [one for one in networks if one not in near]
    known = agreement(networks)
    rows = {
        "screening (mean of seeds) with 160 epochs": known.both,
        "screening, first seed, with 160 epochs": known.one_seed,
        "the same, networks clear of the threshold of survival": agreement(clear).one_seed,
        "the same, networks near it": agreement(near).one_seed,
        "160 epochs, one seed with another": known.whole_seeds,
        "screening, one seed with another": known.short_seeds,
    }
    return table(["Ranks", "Correlation", "Networks"], [[name, *_cells(one)] for name, one in rows.items()])


def is_near(network: Screened) -> bool:
    """Tell whether much of a network starts near the threshold of survival."""
    return network.scheme is not None and load_law().is_near(forecast(network.scheme, LAYERS).wiring)


def over_the_disc(pairs: Sequence[tuple[complex, float]]) -> str:
    """Compare the ranks of pairs of roots with the law's, and with those by modulus, inside and outside the disc."""
    heads = ["Schemes", "Networks", "The law", "Modulus of the pair, small is better"]
    rows = []
    for kind in KINDS:
        law, modulus = (_cells(one)[0] for one in disc_ranks(pairs, kind))
        rows.append([kind, str(len(_of_kind(pairs, kind))), law, modulus])
    return table(heads, rows)


def disc_ranks(pairs: Sequence[tuple[complex, float]], kind: str = "all") -> list[Correlation | None]:
    """Correlate accuracies of pairs of a kind with the law, and with their moduli."""
    some = _of_kind(pairs, kind)
    roots, accuracies = [root for root, _ in some], [value for _, value in some]
    predicted = accuracy_of_pairs(roots).tolist() if some else []
    return [spearman(accuracies, values) for values in (predicted, [-abs(root) for root in roots])]


def _of_kind(pairs: Sequence[tuple[complex, float]], kind: str) -> list[tuple[complex, float]]:
    if kind == "all":
        return list(pairs)
    wanted = kind == "zero-stable"
    return [(root, value) for root, value in pairs if _stable(root) is wanted]


def _stable(root: complex) -> bool:
    """Tell whether a scheme with the roots 1, r and its conjugate is zero-stable; a real r is a double root."""
    return abs(root) < 1 - EXACT or (abs(root) < 1 + EXACT and root.imag > EXACT)


def _registered(results: Path | None) -> list[str]:
    """Write how well the order that was registered before the map was trained agrees with it."""
    path = results / "predictions/screen-survival.json" if results else None
    if results is None or path is None or not path.exists():
        return []
    found = []
    for spec in read_sweep(results / "sweeps/screen-map.json"):
        result = results / "runs" / spec.id / "result.json"
        if result.exists():
            found.append((spec.id, json.loads(result.read_text())["best_test_accuracy"]))
    orders = {one["run"]: one["order"] for one in json.loads(path.read_text())["predictions"] if "order" in one}
    known = [(orders[run], accuracy) for run, accuracy in found if run in orders and accuracy is not None]
    ranks = spearman([-order for order, _ in known], [accuracy for _, accuracy in known])
    if ranks is None:
        return []
    return [
        f"The order that was registered before training has {ranks.rho:.2f} over the {ranks.n} networks of the grid."
    ]


def _reason(known: Agreement) -> list[str]:
    """Explain the rank errors if all that are listed are near the threshold."""
    if not all(is_near(error.network) for error in known.errors[:WORST]):
        return []
    return [
        f"All {WORST} start near the threshold of survival and do better in 160 epochs: their branches are small at "
        "first, and 12 epochs are too short for them to grow."
    ]


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


@cache
def _pairs() -> list[tuple[complex, float]]:
    return screened_pairs(screened_networks(evidence()))


TABLES: dict[str, Callable[[], str]] = {"screening": page_section}
VALUES: dict[str, Callable[[], str]] = {
    "map, networks": lambda: str(len(_pairs())),
    "map, law": lambda: _cells(disc_ranks(_pairs())[0])[0],
    "map, modulus": lambda: _cells(disc_ranks(_pairs())[1])[0],
    "map, modulus, zero-stable": lambda: _cells(disc_ranks(_pairs(), "zero-stable")[1])[0],
}


def main(*arguments: str) -> int:
    pictures = [word for word in arguments if Path(word).suffix]
    stores = [Path(word) for word in arguments if word not in pictures]
    try:
        if missing := [str(store) for store in stores if not store.is_dir()]:
            raise InputError(f"store is {missing[0]}, which is no folder; expected one with runs")
        found = read_evidence([Store(store) for store in stores] + [Store(KNOWN)]) if stores else evidence()
        print(section(found, results=ROOT / "results") or "no network has been screened")
        for picture in pictures:
            save_figure(screening_map(screened_pairs(screened_networks(found))), Path(picture))
    except InputError as error:
        print(f"screening: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
