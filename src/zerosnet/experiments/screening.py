"""Does a short training rank networks as the whole one does? Recipe `screen` against `paper`, from the records alone.

Accuracies are those of the best test epoch, in per cent. A network is a run's spec without its seed and recipe.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.experiments.statistics import Correlation, ranks, spearman
from zerosnet.models import find_name
from zerosnet.numerics import Scheme, accuracy_of_pairs, depth_of_pairs, forecast, pair_of
from zerosnet.training import recipe

SHORT, WHOLE = "screen", "paper"
_EXACT = 1e-9  # distances of roots from circle and axis below this are none


@dataclass(frozen=True)
class Screened:
    """A network with its accuracies by seed, after the short training and after the whole one; either may be empty."""

    model: str
    scheme: Scheme | None
    short: Mapping[int, float]
    whole: Mapping[int, float]

    @property
    def label(self) -> str:
        return self.model if self.scheme is None else self.scheme.short_name


@dataclass(frozen=True)
class RankError:
    """A network whose places differ; 1 is the best.

    Attributes:
        points: How much less accurate, after the whole training, the network is than the one whose place it took; below
            0 if it is better than that.
    """

    network: Screened
    short: float
    whole: float
    points: float


@dataclass(frozen=True)
class Agreement:
    """How well ranks agree over networks; None if there are too few.

    Attributes:
        networks: How many networks have both trainings.
        both: The short training with the whole one, means over seeds.
        one_seed: The same with the first seed of the short training alone, as a map has it.
        short_seeds: One seed of the short training with another.
        whole_seeds: One seed of the whole training with another: no screening can be expected to do better.
        errors: The networks by the size of their rank error, the largest first.
    """

    networks: int
    both: Correlation | None
    one_seed: Correlation | None
    short_seeds: Correlation | None
    whole_seeds: Correlation | None
    errors: tuple[RankError, ...]


def screened_networks(evidence: Evidence, dataset: str = "cifar10", layers: int = 56) -> list[Screened]:
    """Collect the networks of a depth that either recipe has trained, as it is in the book."""
    found: dict[str, list[RunEvidence]] = {}
    for run in _trained(evidence, dataset, layers):
        spec = run.record.spec
        found.setdefault(replace(spec, seed=0, recipe=recipe(WHOLE, dataset)).canonical(), []).append(run)
    return [
        Screened(runs[0].record.spec.model, runs[0].scheme, _accuracies(runs, SHORT), _accuracies(runs, WHOLE))
        for runs in found.values()
    ]


def agreement(networks: Iterable[Screened]) -> Agreement:
    """Compare the ranks of networks that have both trainings."""
    known = list(networks)
    both = [one for one in known if one.short and one.whole]
    short, whole = [_mean(one.short) for one in both], [_mean(one.whole) for one in both]
    return Agreement(
        len(both),
        spearman(short, whole),
        spearman([one.short[min(one.short)] for one in both], whole),
        _between_seeds([one.short for one in known]),
        _between_seeds([one.whole for one in known]),
        _errors(both, short, whole),
    )


def screened_pairs(networks: Iterable[Screened]) -> list[tuple[complex, float]]:
    """List the networks with a pair of parasitic roots r, conj(r): r and the accuracy of the short training."""
    found = [(one, pair_of(one.scheme)) for one in networks if one.short and one.scheme is not None]
    return [(root, _mean(one.short)) for one, root in found if root is not None]


def disc_ranks(
    pairs: Sequence[tuple[complex, float]], layers: int = 56, *, law: bool = True
) -> dict[str, Correlation | None]:
    """Correlate the ranks of screened pairs of roots with those by each measure that is known before training.

    `law` False leaves out the accuracy law, which was fitted to CIFAR-10.
    """
    roots, accuracies = [root for root, _ in pairs], [accuracy for _, accuracy in pairs]
    counts = forecast("euler()", layers).wiring.counts
    measures = {"effective depth": depth_of_pairs(roots, counts).tolist() if pairs else []}
    if law:
        measures["the law"] = accuracy_of_pairs(roots, counts).tolist() if pairs else []
    measures |= {
        "zero stability": [float(is_stable_pair(root)) for root in roots],
        "small modulus": [-abs(root) for root in roots],
    }
    return {name: spearman(accuracies, values) for name, values in measures.items()}


def is_stable_pair(root: complex) -> bool:
    """Tell whether a scheme with the roots 1, r and its conjugate is zero-stable; a real r is a double root."""
    return abs(root) < 1 - _EXACT or (abs(root) < 1 + _EXACT and root.imag > _EXACT)


def ranks_by_epoch(
    evidence: Evidence,
    epochs: Sequence[int],
    dataset: str = "cifar10",
    layers: int = 56,
    *,
    wanted: Callable[[Scheme | None], bool] = lambda scheme: True,
) -> dict[int, Correlation | None]:
    """Correlate the accuracy after so many epochs of the whole training, at its first rate or later, with its end.

    Of every network the run of the lowest seed counts, its best epoch so far: what a training would know that was
    stopped early, with no fall of the rate to settle it. Networks with a scheme that is not `wanted` are left out.
    """
    firsts: dict[str, RunEvidence] = {}
    for run in _trained(evidence, dataset, layers):
        spec = run.record.spec
        if spec.recipe.name == WHOLE and run.metrics and wanted(run.scheme):
            first = firsts.setdefault(replace(spec, seed=0).canonical(), run)
            if spec.seed < first.record.spec.seed:
                firsts[replace(spec, seed=0).canonical()] = run
    runs = list(firsts.values())
    ends = [max(row["test_accuracy"] for row in run.metrics) for run in runs]
    return {
        epoch: spearman([max(row["test_accuracy"] for row in run.metrics[:epoch]) for run in runs], ends)
        for epoch in epochs
    }


def _trained(evidence: Evidence, dataset: str, layers: int) -> list[RunEvidence]:
    """Finished runs of the two recipes, unchanged, in the usual precision and wiring."""
    found = []
    for run in evidence.sound.values():
        spec, result = run.record.spec, run.record.result
        usual = (spec.dataset, spec.precision, spec.validation) == (dataset, None, None)
        alike = usual and not spec.rewired and not spec.changes and spec.recipe.name in (SHORT, WHOLE)
        if alike and result is not None and find_name(spec.model)[1] == layers:
            found.append(run)
    return found


def _accuracies(runs: Iterable[RunEvidence], name: str) -> dict[int, float]:
    """Accuracies by seed; a run that diverged has none."""
    found = {}
    for run in sorted(runs, key=lambda run: run.record.spec.seed):
        spec, result = run.record.spec, run.record.result
        if result is None or result.status != "finished" or spec.recipe.name != name:
            continue
        if result.best_test_accuracy is not None:
            found[spec.seed] = 100 * result.best_test_accuracy
    return found


def _mean(accuracies: Mapping[int, float]) -> float:
    return mean(accuracies.values())


def _between_seeds(accuracies: Iterable[Mapping[int, float]]) -> Correlation | None:
    pairs = [list(one.values())[:2] for one in accuracies if len(one) > 1]
    return spearman([first for first, _ in pairs], [second for _, second in pairs])


def _errors(networks: Sequence[Screened], short: Sequence[float], whole: Sequence[float]) -> tuple[RankError, ...]:
    places_short, places_whole = (len(networks) + 1 - ranks(values) for values in (short, whole))
    by_place = sorted(whole, reverse=True)
    found = [
        RankError(one, float(at), float(belongs), by_place[round(float(at)) - 1] - accuracy)
        for one, at, belongs, accuracy in zip(networks, places_short, places_whole, whole)
    ]
    return tuple(sorted(found, key=lambda error: -abs(error.short - error.whole)))
