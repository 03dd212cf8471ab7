"""Compare the ranks of a short training with those of the whole one, and draw what was screened over the disc of roots.

    python -m tools.screening [MAP.png] [STORE ...]

The records are those in results/runs and in the stores that are given. Train first:

    zerosnet sweep results/sweeps/screen-known.json --data DIR --store STORE      # 94 runs
    zerosnet sweep results/sweeps/screen-later.json --data DIR --store STORE      # 22 runs
    zerosnet sweep results/sweeps/screen-map.json --data DIR --store STORE        # 192 runs
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import mean

from tools.markdown_tables import ROOT, table
from tools.run_tables import evidence
from tools.screening_ranks import LAYERS, by_epoch, correlations, is_near, left_out, rank_errors, reason
from zerosnet.errors import InputError
from zerosnet.experiments import (
    Agreement,
    Correlation,
    Evidence,
    Screened,
    agreement,
    disc_ranks,
    is_stable_pair,
    read_evidence,
    screened_networks,
    screened_pairs,
    spearman,
)
from zerosnet.numerics import forecast
from zerosnet.report import save_figure, screening_map
from zerosnet.training import Store, read_sweep

KNOWN = ROOT / "results/runs"
SWEEP = ROOT / "results/sweeps/screen-map.json"
REGISTERED = ("screen-map", "screen-survival")  # predictions, without and with survival
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
    known, mapped = agreement(networks), grid(networks) if results else networks
    pairs = screened_pairs(mapped)
    parts = [*_summary(known, networks)]
    if pairs:
        parts += [
            "Rank correlation of the screened accuracy with what is known before training, for consistent schemes "
            "with one pair of parasitic roots r:",
            over_the_disc(pairs),
            *_registered(results),
            *(_remarks(networks, mapped) if results else []),
        ]
    if has_picture:
        parts.append(f"![Measured accuracy, effective depth and the law over the disc of roots]({PICTURE})")
        parts.append("*Colours of the three maps have scales of their own: compare their order.*")
    parts += [
        f"The next table compares the ranks of short and whole trainings, and of two seeds.{left_out(found)}",
        correlations(networks),
    ]
    if known.errors:
        parts += ["The largest rank errors (place 1 is the best):", rank_errors(known), *reason(known, networks, found)]
    parts += [
        "If the whole training were stopped early: rank correlation of its best epoch until then with its best of all:",
        by_epoch(found),
    ]
    return "\n\n".join(parts)


def _remarks(networks: Sequence[Screened], mapped: Sequence[Screened]) -> list[str]:
    """Explain the ranks over the map of `results`."""
    near = sum(is_near(one.scheme) for one in mapped)
    sentences = [
        f"Effective depth follows the map best. It was not registered as an order.{_after_all_epochs(networks)}",
        "Consistency ties beta to the roots (beta = |1 - r|²), so the map cannot separate their effects."
        + _off_the_map(networks, mapped),
        "r = 1 has a beta of 0 and is left out.",
        f"{near} of the networks are near the threshold of survival, where 12 epochs rank poorly (below).",
    ]
    return [" ".join(sentences)]


def _off_the_map(networks: Sequence[Screened], mapped: Sequence[Screened]) -> str:
    """Write how well effective depth orders the screened networks that are not on the map."""
    others = [one for one in networks if one.short and one not in mapped]
    depths = [forecast(one.scheme or "euler()", LAYERS).effective_depth for one in others]
    found = spearman([mean(one.short.values()) for one in others], depths)
    if found is None:
        return ""
    return f" Over the {found.n} screened networks beside the map effective depth has {found.rho:.2f}."


def _after_all_epochs(networks: Iterable[Screened]) -> str:
    """Write how well effective depth and the law order the networks of the whole training."""
    known = []
    for one in networks:
        found = forecast(one.scheme or "euler()", LAYERS)
        if one.whole and found.prediction is not None and found.prediction.accuracy is not None:
            known.append((mean(one.whole.values()), found.effective_depth, found.prediction.accuracy))
    accuracies, depths, predicted = ([row[place] for row in known] for place in range(3))
    depth, law = spearman(accuracies, depths), spearman(accuracies, predicted)
    if depth is None or law is None:
        return ""
    return (
        f" After 160 epochs the law is better ({law.rho:.2f} over {law.n} networks, to which it was fitted; effective "
        f"depth {depth.rho:.2f}): the schemes that it puts above 92 % differ little by then, and more after 12 epochs."
    )


def _summary(known: Agreement, networks: Sequence[Screened]) -> list[str]:
    what = "Recipe `screen` is `paper` in 12 epochs."
    if known.both is None:
        return [what]
    lost = [one.label for one in networks if not one.short and not one.whole]
    told = f"**Ranks after 12 epochs have a correlation of {known.both.rho:.2f} with those after 160**"
    of = f"({known.networks} networks of 56 layers, best test epoch)"
    diverged = f" Diverged, and not counted: {', '.join(f'`{name}`' for name in lost)}." if lost else ""
    return [f"{told} {of}. {what}{diverged}"]


def over_the_disc(pairs: Sequence[tuple[complex, float]]) -> str:
    """Compare the ranks of pairs of roots with what is known before training, inside and outside the disc."""
    kinds = {"all": list(pairs)}
    for name, wanted in (("zero-stable", True), ("not zero-stable", False)):
        kinds[name] = [(root, value) for root, value in pairs if is_stable_pair(root) is wanted]
    found = {kind: disc_ranks(some, LAYERS) for kind, some in kinds.items()}
    rows = [
        [kind, str(len(kinds[kind])), *("" if one is None else f"{one.rho:.2f}" for one in ranks.values())]
        for kind, ranks in found.items()
    ]
    return table(["Schemes", "Networks", *found["all"]], rows)


def grid(networks: Iterable[Screened]) -> list[Screened]:
    """Pick the networks of the sweep `screen-map`."""
    schemes = {spec.scheme for spec in read_sweep(SWEEP)}
    return [one for one in networks if one.model == f"zerosnet{LAYERS}" and one.scheme in schemes and one.short]


def _registered(results: Path | None) -> list[str]:
    """Write how well the orders that were registered before the map was trained agree with it."""
    found = [ranks for name in REGISTERED if results and (ranks := _order_ranks(results, name)) is not None]
    if len(found) < len(REGISTERED):
        return []
    first, second = found
    return [
        f"The law's order was registered before training, in two forms. Without the threshold of survival its rank "
        f"correlation is {first.rho:.2f} over {first.n} networks, with it {second.rho:.2f}."
    ]


def _order_ranks(results: Path, name: str) -> Correlation | None:
    """Correlate the order that a file predicts for the networks of the map with what was measured."""
    path = results / f"predictions/{name}.json"
    orders = {one["run"]: one["order"] for one in json.loads(path.read_text())["predictions"] if "order" in one}
    found = []
    for spec in read_sweep(SWEEP):
        result = results / "runs" / spec.id / "result.json"
        accuracy = json.loads(result.read_text())["best_test_accuracy"] if result.exists() else None
        if accuracy is not None and spec.id in orders:
            found.append((-orders[spec.id], accuracy))
    return spearman([order for order, _ in found], [accuracy for _, accuracy in found])


@cache
def _on_the_map(measure: str) -> str:
    """Write the rank correlation of a measure over the networks of the sweep `screen-map`."""
    pairs = screened_pairs(grid(screened_networks(evidence())))
    found = disc_ranks(pairs, LAYERS)[measure]
    return "" if found is None else f"{found.rho:.2f}"


def _yes_or_no_at_most() -> str:
    """Write the rank correlation that zero stability would have if every zero-stable network were above the others."""
    found = screened_pairs(grid(screened_networks(evidence())))
    stable = [float(is_stable_pair(root)) for root, _ in found]
    best = spearman(stable, [value + 1e-6 * i for i, value in enumerate(stable)])
    return "" if best is None else f"{best.rho:.2f}"


def _minutes() -> str:
    """Add up what the records of the sweep `screen-map` took: its groups were trained one after the other."""
    seconds = {run.record.spec: run.record.result.seconds for run in evidence().sound.values() if run.record.result}
    return f"{sum(seconds[spec] for spec in read_sweep(SWEEP)) / 60:.0f}"


TABLES: dict[str, Callable[[], str]] = {"screening": page_section}
VALUES: dict[str, Callable[[], str]] = {
    "map, networks": lambda: str(len(screened_pairs(grid(screened_networks(evidence()))))),
    "map, minutes": _minutes,
    "map, depth": partial(_on_the_map, "effective depth"),
    "map, law": partial(_on_the_map, "the law"),
    "map, stability": partial(_on_the_map, "zero stability"),
    "map, yes or no at most": _yes_or_no_at_most,
}


def main(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.screening", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "place", type=Path, nargs="*", help="a picture of the map (.png, .svg, .pdf), or a store of runs"
    )
    given: list[Path] = parser.parse_args(arguments).place
    pictures, stores = [one for one in given if one.suffix], [one for one in given if not one.suffix]
    try:
        for store in stores:
            if not store.is_dir():
                raise InputError(f"store is {store}, which is no folder; expected one with runs")
            own = [one for one in screened_networks(read_evidence(Store(store))) if one.short]
            print(f"{store}: {len(own)} screened networks of {LAYERS} layers on cifar10\n")
        found = read_evidence([Store(store) for store in [*stores, KNOWN]])
        print(section(found, results=None if stores else ROOT / "results") or "no network has been screened")
        for picture in pictures:
            save_figure(screening_map(screened_pairs(screened_networks(found))), picture)
    except InputError as error:
        print(f"screening: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
