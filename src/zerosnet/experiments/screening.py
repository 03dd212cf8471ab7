"""Does a short training rank networks as the whole one does? Recipe `screen` against `paper`, from the records alone.

Accuracies are those of the best test epoch, in per cent. A network is a run's spec without its seed and recipe.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import NamedTuple

from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.experiments.statistics import Correlation, ranks, spearman
from zerosnet.models import find_name
from zerosnet.numerics import Scheme, accuracy_of_pairs, depth_of_pairs, forecast, pair_of
from zerosnet.training import RunSpec, recipe

SHORT, WHOLE = "screen", "paper"
_EXACT = 1e-9  # distances of roots from circle and axis below this are none


class ScreenSetting(NamedTuple):
    """What screened networks share, so that their ranks can be compared; `changes` are those of recipe `screen`."""

    dataset: str
    layers: int
    changes: str


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


def screen_settings(evidence: Evidence) -> tuple[list[ScreenSetting], int]:
    """List the settings of screened networks, those with the most runs first, and count runs that are in none.

    A network with another precision or wiring, or with images held out, is not compared with others.
    """
    specs = [run.record.spec for run in evidence.sound.values() if run.record.result is not None]
    short = [spec for spec in specs if spec.recipe.name == SHORT]
    usual = Counter(_setting(spec) for spec in short if _is_usual(spec))
    return [setting for setting, _ in usual.most_common()], len(short) - usual.total()


def screened_networks(
    evidence: Evidence, dataset: str = "cifar10", layers: int = 56, changes: str = ""
) -> list[Screened]:
    """Collect the networks of a depth that either recipe has trained: `paper` as it is, `screen` with these changes."""
    found: dict[str, list[RunEvidence]] = {}
    for run in _trained(evidence, ScreenSetting(dataset, layers, changes)):
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
    """Check if a scheme with the roots 1, r and its conjugate is zero-stable; a real r is a double root."""
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
    for run in _trained(evidence, ScreenSetting(dataset, layers, "")):
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


def _trained(evidence: Evidence, setting: ScreenSetting) -> list[RunEvidence]:
    """Finished runs of the two recipes in a setting; those of `paper` are unchanged."""
    wanted = {SHORT: setting, WHOLE: setting._replace(changes="")}
    runs = [run for run in evidence.sound.values() if run.record.spec.recipe.name in wanted]
    ended = [run for run in runs if run.record.result is not None and _is_usual(run.record.spec)]
    return [run for run in ended if _setting(run.record.spec) == wanted[run.record.spec.recipe.name]]


def _is_usual(spec: RunSpec) -> bool:
    """Check if a run has the usual precision and wiring, and all training images."""
    return (spec.precision, spec.validation) == (None, None) and not spec.rewired


def _setting(spec: RunSpec) -> ScreenSetting:
    changes = ", ".join(f"{key} {value}" for key, value in spec.changes.items())
    return ScreenSetting(spec.dataset, find_name(spec.model)[1], changes)


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
