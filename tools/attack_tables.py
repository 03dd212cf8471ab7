"""Tables and numbers of networks without defence under attack, and of the paper's PGD table, predicted and measured.

The predictions are those of results/predictions/defended.json. A network is listed when its record is there.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import sqrt
from statistics import fmean
from typing import Any

from tools.defence_tables import PREDICTIONS, WORDS, certified, places
from tools.markdown_tables import span, table
from tools.run_tables import RUNS, evidence
from zerosnet.experiments import (
    AttackedNetwork,
    Evidence,
    RunEvidence,
    attacked_networks,
    experiment,
    rounded_name,
)

PACKAGED = "measured on the weights that come with the package"
WAITING = "Not measured yet: predictions are on record in `results/predictions/defended.json`."
SMALL = tuple(levels / 255 for levels in (0.25, 0.5, 1, 2))
ORDERED = 1 / 255
METHODS = ("pgd-50", "autoattack")
TRANSFER = (3 / 255, 5 / 255, 8 / 255)
SIDES = {True: "yes", False: "no", None: "trained"}


@cache
def registered(recipe: str) -> tuple[dict[str, Any], ...]:
    """Read what was registered for a recipe's networks, the best by the law first."""
    stored = json.loads((PREDICTIONS / "defended.json").read_text())["predictions"]
    return tuple(sorted((one for one in stored if one["recipe"]["name"] == recipe), key=lambda one: one["order"]))


def attacked(run: RunEvidence) -> AttackedNetwork | None:
    """Collect a run's white-box attacks; None if there are none."""
    found = attacked_networks(Evidence(runs=(run,)))
    return found[0] if found else None


def undefended(every: Evidence | None = None) -> str:
    """List what small radii leave of networks without defence, and their places beside those of law and roots."""
    found = _undefended(every)
    if not found:
        return WAITING
    columns = [(m, eps) for m in METHODS for eps in SMALL if any(_left(network, m, eps) for _, network in found)]
    measured, law, roots = (list(one.values()) for one in _undefended_places(ORDERED, found))
    rows = []
    for i, (one, network) in enumerate(found):
        clean = [f"{one['predicted_accuracy']['parts']:.1f}", f"{network.clean:.1f}"]
        left = [_cell(_left(network, *column)) for column in columns]
        where = [f"{place[i]:.2f}" if place else "" for place in (measured, law, roots)]
        rows.append([_name(one), SIDES[one["zero_stable"]], *clean, *left, *where])
    heads = [f"{WORDS[method]}, {_radius(eps)}" for method, eps in columns]
    last = [f"Place, {_radius(ORDERED)}", "by the law", "by the root condition"]
    return table(["Network", "Zero-stable", "Clean by the law, %", "Clean, %", *heads, *last], rows)


def _undefended(every: Evidence | None = None) -> list[tuple[dict[str, Any], AttackedNetwork]]:
    """Find the registered networks without defence that were attacked, the best by the law first."""
    runs = _by_id(every)
    found = ((one, attacked(runs[one["run"]])) for one in registered("paper") if one["run"] in runs)
    return [(one, network) for one, network in found if network is not None]


def _undefended_places(
    eps: float, found: Sequence[tuple[dict[str, Any], AttackedNetwork]]
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Place networks by what PGD-50 leaves, by the clean accuracy that the law predicts, and by the root condition.

    Empty if a measurement is missing, or if two networks cannot be told apart.
    """
    left = {one["run"]: _left(network, METHODS[0], eps) for one, network in found}
    known = {run: value for run, value in left.items() if value is not None}
    stable = {one["run"]: float(one["zero_stable"]) for one, _ in found}
    if len(known) < len(left) or len(set(known.values())) < 2 or len(set(stable.values())) < 2:
        return {}, {}, {}
    return places(known), places({one["run"]: one["predicted_accuracy"]["parts"] for one, _ in found}), stable


def undefended_missed(which: int) -> str:
    """Write how far the law (1) or the root condition (2) misses the places of the networks, by radius."""
    words = []
    for eps in SMALL[:3]:
        made = _undefended_places(eps, _undefended())
        words.append(f"{sqrt(fmean((made[which][run] - place) ** 2 for run, place in made[0].items())):.2f}")
    return f"{words[0]}, {words[1]} and {words[2]}"


def paper_pgd(every: Evidence | None = None) -> str:
    """List the paper's PGD table by its own protocol: printed, measured and predicted."""
    measured_rows = _paper_rows(every)
    found = [(one, measured_rows[one["run"]]) for one in registered("pgd-paper") if one["run"] in measured_rows]
    if not found:
        return WAITING
    last = {one["run"]: left["transfer", TRANSFER[-1]] for one, left in found}
    whole = len(found) == len(registered("pgd-paper")) and len(set(last.values())) > 1
    measured = places(last) if whole else {}
    rows = []
    for one, left in found:
        ours = [f"{left[key]:.1f}" for key in (("clean", None), *(("transfer", eps) for eps in TRANSFER))]
        where = f"{measured[one['run']]:.2f}" if whole else ""
        laws = [f"{one['place'][law]:.2f}" for law in ("parts", "root_condition")]
        white = _cell(left.get(("pgd-20", TRANSFER[-1])))
        rows.append([_name(one), SIDES[one["zero_stable"]], *ours, _printed(one["run"]), white, where, *laws])
    radii = [f"Transferred, {_radius(eps)}, reaching {_radius(1.75 * eps)}" for eps in TRANSFER]
    heads = ["Clean, %", *radii, f"The paper, {_radius(TRANSFER[-1])}", f"PGD-20, {_radius(TRANSFER[-1])}"]
    return table(["Network", "Zero-stable", *heads, "Place", "by the law", "by the root condition"], rows)


def packaged_networks(every: Evidence | None = None) -> list[AttackedNetwork]:
    """Find networks without defence that were attacked with the weights that come with the package."""
    found = []
    for run in (every or evidence()).runs:
        attacks = {n: a for n, a in run.attacks.items() if any(note.startswith(PACKAGED) for note in a.notes)}
        network = attacked(RunEvidence(run.store, run.record, attacks=attacks))
        found += [network] if network is not None and network.recipe == "paper" else []
    return sorted(found, key=lambda network: -network.clean)


def packaged_left(every: Evidence | None = None) -> str:
    """Write what PGD-50 leaves of the packaged networks at the radii."""
    found, parts = packaged_networks(every), []
    for eps in SMALL:
        left = [value for one in found if (value := _left(one, METHODS[0], eps)) is not None]
        parts += [f"{span(left, 1)} % at {_radius(eps)}"] if left else []
    return ", ".join(parts) or "not measured yet"


def undefended_left(zero_stable: bool, every: Evidence | None = None) -> str:
    """Write what PGD-50 leaves, at the radius of the order, of networks that are zero-stable, or are not."""
    found = [network for network in _undefended_networks(every) if network.zero_stable is zero_stable]
    left = [value for one in found if (value := _left(one, METHODS[0], ORDERED)) is not None]
    return span(left, 1) if left else "not measured yet"


def undefended_images() -> str:
    """Write how many images were attacked, and the largest standard error of a table's accuracies."""
    (images,) = {network.images[METHODS[0]] for network in _undefended_networks()}
    return f"{images:,} images, standard error up to {50 / sqrt(images):.1f} points"


def paper_left(column: tuple[str, float | None]) -> str:
    """Write what is left of the network that the paper's protocol calls best."""
    best = max(_paper_rows().values(), key=lambda left: left["transfer", TRANSFER[-1]])
    return f"{best[column]:.1f}"


def paper_random() -> str:
    """Write what random signs of the largest radius leave of the networks of the paper's protocol."""
    return span([left["random signs", TRANSFER[-1]] for left in _paper_rows().values()], 1)


def paper_below() -> str:
    """Write by how much clean accuracy is below the printed one, in the rows of the paper's PGD table."""
    printed = {one: _printed(one, "eps=0") for one in _paper_rows()}
    return span([float(printed[run]) - left["clean", None] for run, left in _paper_rows().items()], 1)


def optimum_left(recipe: str) -> str:
    """Write what PGD-50 leaves of the optimum that a recipe trained, at two radii."""
    runs = _by_id(None)
    network = attacked(runs[next(one["run"] for one in registered(recipe) if one["model"].endswith("_opt"))])
    assert network is not None
    return " and ".join(f"{_cell(_left(network, METHODS[0], eps))} % at {_radius(eps)}" for eps in (SMALL[0], ORDERED))


def checks_failed() -> str:
    """Count the attacks in the records of which a sanity check failed."""
    return str(sum(bool(one.warnings) for run in evidence().runs for one in run.attacks.values()))


def paper_white_box() -> str:
    """Write the most that white-box PGD leaves of any network, at the smallest radius of the table."""
    return f"{max(left['pgd-20', TRANSFER[0]] for left in _paper_rows().values()):.1f}"


def _undefended_networks(every: Evidence | None = None) -> list[AttackedNetwork]:
    return [network for _, network in _undefended(every)]


def _paper_rows(every: Evidence | None = None) -> dict[str, dict[tuple[str, float | None], float]]:
    """Read what the paper's protocol left, in percent, by run, and then by method and radius."""
    runs, found = _by_id(every), {}
    for one in registered("pgd-paper"):
        result = runs[one["run"]].attack("paper-pgd") if one["run"] in runs else None
        if result is not None and result.rows:
            found[one["run"]] = {(row.method, row.eps): 100 * row.accuracy for row in result.rows}
    return found


def certified_seconds() -> str:
    """Add up the seconds that the certificates took; every record has the part of one network."""
    found = [json.loads(path.read_text()) for path in sorted(RUNS.glob("*/attacks/smoothing.json"))]
    devices = {one["environment"]["gpu"]["names"][0].split()[-1] for one in found}
    assert len(found) == sum(one.runs for one in certified()) and len(devices) == 1
    return f"{len(found)} networks took {sum(one['seconds'] for one in found):.0f} s on an {devices.pop()}"


def _by_id(every: Evidence | None) -> Mapping[str, RunEvidence]:
    return {run.record.id: run for run in (every or evidence()).runs}


def _left(network: AttackedNetwork, method: str, eps: float) -> float | None:
    return next((value for radius, value in network.kept.get(method, {}).items() if abs(radius - eps) < 1e-9), None)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _radius(eps: float) -> str:
    return f"{255 * eps:g}/255"


def _name(one: dict[str, Any]) -> str:
    return f"`{rounded_name(' '.join(filter(None, (one['model'], one.get('scheme')))))}`"


def _printed(run: str, column: str = "eps=8/255") -> str:
    """Write the number that the paper printed for a run's network, at the largest radius by default."""
    table_pgd = experiment("table-pgd")
    for cell in table_pgd.cells:
        if cell.column == column and any(spec.id == run for spec in table_pgd.cell_specs(cell, "full")):
            return "" if cell.printed is None else f"{cell.printed.value:.1f}"
    return ""


TABLES: dict[str, Callable[[], str]] = {
    "attacks, undefended": undefended,
    "attacks, paper": paper_pgd,
}
VALUES: dict[str, Callable[[], str]] = {
    "certified, seconds": certified_seconds,
    "attacks, packaged left": packaged_left,
    "attacks, undefended zero-stable": lambda: undefended_left(True),
    "attacks, undefended others": lambda: undefended_left(False),
    "attacks, undefended images": undefended_images,
    "attacks, undefended missed by law": lambda: undefended_missed(1),
    "attacks, undefended missed by roots": lambda: undefended_missed(2),
    "attacks, paper best clean": lambda: paper_left(("clean", None)),
    "attacks, paper best transferred": lambda: paper_left(("transfer", TRANSFER[-1])),
    "attacks, paper random": paper_random,
    "attacks, paper below": paper_below,
    "attacks, optimum of the paper": lambda: optimum_left("pgd-paper"),
    "attacks, optimum undefended": lambda: optimum_left("paper"),
    "attacks, checks failed": checks_failed,
    "attacks, paper white-box": paper_white_box,
}
