"""The figures of the page on robustness, drawn from the records in results/runs."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from zerosnet.experiments import (
    NoisyNetwork,
    attacked_networks,
    certified_networks,
    corrupted_networks,
    noisy_networks,
    read_evidence,
)
from zerosnet.report import attacked_figure, certified_figure, corruption_figure, noise_figure, noise_law_figure
from zerosnet.training import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNS = Path(__file__).parents[2] / "results/runs"


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
