"""All experiments by name: the paper's tables and figure in its order, then our own."""

from zerosnet.experiments import ours
from zerosnet.experiments.definition import Experiment, find_experiment
from zerosnet.experiments.paper import accuracy as accuracy_tables
from zerosnet.experiments.paper import other as other_tables
from zerosnet.experiments.paper import robustness as robustness_tables

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        accuracy_tables.preresnet_alpha(),
        accuracy_tables.lmresnet_k(),
        accuracy_tables.zerosnet_cifar10(),
        accuracy_tables.roots_cifar100(),
        accuracy_tables.comparison(),
        other_tables.imagenet(),
        *robustness_tables.noise_tables(),
        robustness_tables.pgd(),
        robustness_tables.fgsm(),
        other_tables.generalisation_gap(),
        other_tables.parameters(),
        other_tables.run_time(),
        other_tables.coefficients(),
        ours.mosaics(),
        ours.scan_disc(),
        ours.pairs(),
    )
}


def experiment(name: str) -> Experiment:
    """An experiment by name; an unknown one is the user's mistake."""
    return find_experiment(name, EXPERIMENTS)
