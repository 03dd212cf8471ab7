"""The figures of the page on robustness, drawn from the records in results/runs."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from zerosnet.experiments import (
    Evidence,
    NoisyNetwork,
    attacked_networks,
    certified_networks,
    corrupted_networks,
    noisy_networks,
    read_evidence,
)
from zerosnet.report import attacked_figure, certified_figure, corruption_figure, noise_figure, noise_law_figure
from zerosnet.training import Store, read_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[2] / "results"
RUNS, UNDEFENDED = RESULTS / "runs", RESULTS / "sweeps/undefended.json"


@cache
def networks() -> tuple[NoisyNetwork, ...]:
    return tuple(noisy_networks(read_evidence(Store(RUNS))))


def noise_drawn() -> "Figure":
    return noise_figure(networks())


def noise_law_drawn() -> "Figure":
    return noise_law_figure(networks())


def corruptions_drawn() -> "Figure":
    return corruption_figure(corrupted_networks(read_evidence(Store(RUNS))))


def certificates_drawn() -> "Figure":
    return certified_figure(certified_networks(read_evidence(Store(RUNS))))


def attacks_drawn() -> "Figure":
    """The networks that were trained on white-box adversarial examples."""
    attacked = attacked_networks(read_evidence(Store(RUNS)))
    return attacked_figure([one for one in attacked if one.recipe == "pgd-madry"])


def undefended_drawn() -> "Figure":
    """Four networks that were trained as usual, one seed each."""
    asked = {spec.id for spec in read_sweep(UNDEFENDED)}
    every = read_evidence(Store(RUNS))
    return attacked_figure(attacked_networks(Evidence(runs=tuple(one for one in every.runs if one.record.id in asked))))
