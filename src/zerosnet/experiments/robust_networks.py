"""Corruptions and certificates of the networks in a store, seeds joined, beside a reference network."""

from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.experiments.run_networks import wired_name
from zerosnet.numerics import is_zero_stable
from zerosnet.robustness import CorruptionErrors, ProtocolResult, corruption_errors, mean_corruption_error

REFERENCE = "preresnet56"
Found = tuple[RunEvidence, ProtocolResult]


@dataclass(frozen=True)
class CorruptedNetwork:
    """Errors of a network under corruption, the mean over its runs, and in percent of the reference's.

    Attributes:
        error: The mean corruption error; None without a reference that was measured alike.
        relative: The same for what is lost to corruption, so that clean accuracy does not count.
        zero_stable: None if the coefficients are trained.
    """

    name: str
    recipe: str
    zero_stable: bool | None
    errors: CorruptionErrors
    error: float | None
    relative: float | None
    runs: int


@dataclass(frozen=True)
class CertifiedNetwork:
    """Certified accuracy of a smoothed network over the L2 radius, in percent, the mean over its runs."""

    name: str
    recipe: str
    zero_stable: bool | None
    clean: float
    certified: dict[float, float]
    abstained: float
    runs: int

    @property
    def mean_radius(self) -> float:
        """The mean certified radius, an image that is wrong or not certain counting as 0: the area under the curve."""
        radii = sorted(self.certified)
        return sum((b - a) * (self.certified[a] + self.certified[b]) / 200 for a, b in pairwise(radii))


def corrupted_networks(evidence: Evidence, dataset: str = "cifar10") -> list[CorruptedNetwork]:
    """Collect the networks of a data set under protocol `corruptions`, lowest mean error first.

    The reference is PreResNet-56 with the same recipe.
    """
    groups = {key: _errors(found) for key, found in _groups(evidence, "corruptions", dataset).items()}
    references = {recipe: errors for (name, recipe, _), (errors, _) in groups.items() if name == REFERENCE}
    networks = []
    for (name, recipe, stable), (errors, runs) in groups.items():
        reference = references.get(recipe)
        alike = reference is not None and (reference.source, reference.counted) == (errors.source, errors.counted)
        ratios = [
            mean_corruption_error(errors, reference, relative=relative) if alike and reference is not None else None
            for relative in (False, True)
        ]
        networks.append(CorruptedNetwork(name, recipe, stable, errors, ratios[0], ratios[1], runs))
    return sorted(networks, key=lambda network: network.errors.mean)


def _errors(found: list[Found]) -> tuple[CorruptionErrors, int]:
    return corruption_errors([result for _, result in found]), len(found)


def certified_networks(evidence: Evidence, dataset: str = "cifar10") -> list[CertifiedNetwork]:
    """Collect the networks of a data set under protocol `smoothing`, largest mean radius first."""
    networks = []
    for (name, recipe, stable), found in _groups(evidence, "smoothing", dataset).items():
        rows: dict[tuple[str, float], list[float]] = {}
        for _, result in found:
            for row in result.rows:
                rows.setdefault((row.method, row.eps or 0.0), []).append(100 * row.accuracy)
        means = {key: mean(values) for key, values in rows.items()}
        certified = {radius: value for (method, radius), value in means.items() if method == "certified"}
        clean, abstained = (means[method, 0.0] for method in ("clean", "abstained"))
        networks.append(CertifiedNetwork(name, recipe, stable, clean, certified, abstained, len(found)))
    return sorted(networks, key=lambda network: -network.mean_radius)


def _groups(evidence: Evidence, protocol: str, dataset: str) -> dict[tuple[str, str, bool | None], list[Found]]:
    """Join the runs of a network by its name, with what is unusual about it, its recipe and root condition."""
    groups: dict[tuple[str, str, bool | None], list[Found]] = {}
    for run in evidence.runs:
        result, spec = run.attack(protocol), run.record.spec
        if result is None or not result.rows or spec.dataset != dataset:
            continue
        name = wired_name(spec, spec.model if spec.scheme is None else f"{spec.model} {spec.scheme}")
        stable = None if run.scheme is None else bool(is_zero_stable(run.scheme))
        groups.setdefault((name, spec.recipe.name, stable), []).append((run, result))
    return groups
