"""Corruptions, certificates and attacks of the networks in a store, seeds joined, beside a reference network."""

from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from zerosnet.errors import InputError
from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.experiments.run_networks import recipe_name, wired_name
from zerosnet.files import is_number
from zerosnet.numerics import is_zero_stable
from zerosnet.robustness import (
    CorruptionErrors,
    ProtocolResult,
    ResultRow,
    corruption_errors,
    mean_corruption_error,
    sigma_of,
)

REFERENCE = "preresnet56"
WHITE_BOX = ("pgd-whitebox", "autoattack")
STRONG = ("pgd-20", "pgd-50", "autoattack")
"""Methods of these protocols that are attacks to be reported, the weakest first."""

FIRST = "cifar10"
"""The data set that comes first, if there are several."""

Found = tuple[RunEvidence, ProtocolResult]
Key = tuple[str, str, bool | None]


@dataclass(frozen=True)
class CorruptedNetwork:
    """Errors of a network under corruption, the mean over its runs, and in percent of the reference's.

    Attributes:
        error: The mean corruption error; None without a reference that was measured alike.
        relative: The same for what is lost to corruption, so that clean accuracy does not count.
        zero_stable: None if the coefficients are trained.
        images: How many test images were corrupted.
    """

    name: str
    recipe: str
    zero_stable: bool | None
    errors: CorruptionErrors
    error: float | None
    relative: float | None
    images: int
    runs: int


@dataclass(frozen=True)
class CertifiedNetwork:
    """Certified accuracy of a smoothed network over the L2 radius, in percent, the mean over its runs.

    Attributes:
        images: How many test images were certified, or not.
        sigma: Deviation of the noise that it is smoothed by.
    """

    name: str
    recipe: str
    zero_stable: bool | None
    clean: float
    certified: dict[float, float]
    abstained: float
    images: int
    runs: int
    sigma: float

    @property
    def mean_radius(self) -> float:
        """The mean certified radius, an image that is wrong or not certain counting as 0: the area under the curve."""
        radii = sorted(self.certified)
        return sum((b - a) * (self.certified[a] + self.certified[b]) / 200 for a, b in pairwise(radii))


@dataclass(frozen=True)
class AttackedNetwork:
    """Accuracy of a network under white-box attacks in L-infinity, in percent, the mean over its runs.

    Attributes:
        clean: On the images of the attack that saw most of them.
        kept: By method and radius.
        images: How many test images a method attacked.
    """

    name: str
    recipe: str
    zero_stable: bool | None
    clean: float
    kept: dict[str, dict[float, float]]
    images: dict[str, int]
    runs: int

    def over_radius(self, method: str) -> dict[float, float]:
        """Return the accuracy under an attack by radius, in steps of 8-bit pixels."""
        return {255 * eps: accuracy for eps, accuracy in self.kept.get(method, {}).items()}


def datasets(evidence: Evidence) -> list[str]:
    """List the data sets of the runs, CIFAR-10 first and the others by name."""
    return sorted({run.record.spec.dataset for run in evidence.runs}, key=lambda name: (name != FIRST, name))


def corrupted_networks(evidence: Evidence, dataset: str = "cifar10") -> list[CorruptedNetwork]:
    """Collect the networks of a data set under protocol `corruptions`, lowest mean error first.

    The reference is PreResNet-56 with the same recipe, on as many images.
    """
    groups = _groups(evidence, "corruptions", dataset)
    errors = {key: corruption_errors([result for _, result in found]) for key, found in groups.items()}
    images = {key: _images(found[0][1]) for key, found in groups.items()}
    references = {(key[1], images[key]): errors[key] for key in groups if key[0] == REFERENCE}
    networks = []
    for key, found in groups.items():
        name, recipe, stable = key
        reference = references.get((recipe, images[key]))
        ratios = (_ratio(errors[key], reference), _ratio(errors[key], reference, relative=True))
        networks.append(CorruptedNetwork(name, recipe, stable, errors[key], *ratios, images[key], len(found)))
    return sorted(networks, key=lambda network: network.errors.mean)


def _ratio(errors: CorruptionErrors, reference: CorruptionErrors | None, *, relative: bool = False) -> float | None:
    """Compute one ratio; None if there is no reference, or it was measured otherwise, or loses nothing."""
    try:
        return None if reference is None else mean_corruption_error(errors, reference, relative=relative)
    except InputError:
        return None


def certified_networks(evidence: Evidence, dataset: str = "cifar10") -> list[CertifiedNetwork]:
    """Collect the smoothed networks of a data set, by the deviation of the noise and then largest mean radius first."""
    names = {one.protocol for run in evidence.runs for one in run.attacks.values()}
    sigmas = {name: sigma for name in names if (sigma := sigma_of(name)) is not None}
    networks = [one for name, sigma in sigmas.items() for one in _certified(evidence, name, sigma, dataset)]
    return sorted(networks, key=lambda network: (network.sigma, -network.mean_radius))


def _certified(evidence: Evidence, protocol: str, sigma: float, dataset: str) -> list[CertifiedNetwork]:
    """Collect the networks that were smoothed by one noise."""
    networks = []
    for (name, recipe, stable), found in _groups(evidence, protocol, dataset).items():
        rows: dict[tuple[str, float], list[float]] = {}
        for _, result in found:
            for row in result.rows:
                rows.setdefault((row.method, row.eps or 0.0), []).append(100 * row.accuracy)
        means = {key: mean(values) for key, values in rows.items()}
        certified = {radius: value for (method, radius), value in means.items() if method == "certified"}
        clean, abstained = (means[method, 0.0] for method in ("clean", "abstained"))
        images = _images(found[0][1])
        networks.append(CertifiedNetwork(name, recipe, stable, clean, certified, abstained, images, len(found), sigma))
    return networks


def attacked_networks(evidence: Evidence, dataset: str = "cifar10") -> list[AttackedNetwork]:
    """Collect the networks of a data set under white-box attacks, by recipe and then best clean accuracy first.

    What was measured on some of the images counts too. Of two results of one attack, that of more images does, and
    seeds that were attacked on fewer images than others do not.
    """
    networks = []
    for (name, recipe, stable), every in _attacked(evidence, dataset).items():
        most = max(_clean_row(run).images for run in every)
        runs = [run for run in every if _clean_row(run).images == most]
        rows = [_strong_rows(run) for run in runs]
        shared = set(rows[0]).intersection(*rows[1:])
        kept: dict[str, dict[float, float]] = {}
        for method, eps in sorted(shared, key=lambda key: (STRONG.index(key[0]), key[1])):
            kept.setdefault(method, {})[eps] = mean(100 * found[method, eps].accuracy for found in rows)
        images = {method: min(found[method, eps].images for found in rows for eps in kept[method]) for method in kept}
        clean = mean(100 * _clean_row(run).accuracy for run in runs)
        networks.append(AttackedNetwork(name, recipe, stable, clean, kept, images, len(runs)))
    return sorted(networks, key=lambda network: (network.recipe, -network.clean))


def _attacked(evidence: Evidence, dataset: str) -> dict[Key, list[RunEvidence]]:
    groups: dict[Key, list[RunEvidence]] = {}
    for run in evidence.runs:
        if run.record.spec.dataset == dataset and _strong_rows(run):
            groups.setdefault(_key(run), []).append(run)
    return groups


def _strong_rows(run: RunEvidence) -> dict[tuple[str, float], ResultRow]:
    """Find the rows of a run's white-box attacks by method and radius."""
    rows: dict[tuple[str, float], ResultRow] = {}
    for result in run.attacks.values():
        for row in result.rows if result.protocol in WHITE_BOX else ():
            if row.method in STRONG and row.eps is not None:
                known = rows.get((row.method, row.eps))
                if known is None or known.images < row.images:
                    rows[row.method, row.eps] = row
    return rows


def _clean_row(run: RunEvidence) -> ResultRow:
    results = [result for result in run.attacks.values() if result.protocol in WHITE_BOX]
    return max((row for result in results for row in result.rows if row.method == "clean"), key=lambda row: row.images)


def _groups(evidence: Evidence, protocol: str, dataset: str) -> dict[Key, list[Found]]:
    """Collect the results of a protocol by network.

    Of several results of a run that of the most images counts, and of several seeds those with the most.
    """
    groups: dict[Key, list[Found]] = {}
    for run in evidence.runs:
        results = [one for one in run.attacks.values() if one.protocol == protocol and one.rows]
        if results and run.record.spec.dataset == dataset:
            groups.setdefault(_key(run), []).append((run, max(results, key=_size)))
    return {key: _largest(found) for key, found in groups.items()}


def _largest(found: list[Found]) -> list[Found]:
    most = max(_size(result) for _, result in found)
    return [(run, result) for run, result in found if _size(result) == most]


def _size(result: ProtocolResult) -> tuple[int, int]:
    """Count the images of a result, and the samples that were drawn for each."""
    samples = (row.settings.get("samples", 0) for row in result.rows)
    return _images(result), max((int(count) for count in samples if is_number(count)), default=0)


def _images(result: ProtocolResult) -> int:
    return min(row.images for row in result.rows)


def _key(run: RunEvidence) -> Key:
    """Name the network of a run, with what is unusual about it, its recipe with changes, and root condition."""
    spec = run.record.spec
    name = wired_name(spec, spec.model if spec.scheme is None else f"{spec.model} {spec.scheme}")
    stable = None if run.scheme is None else bool(is_zero_stable(run.scheme))
    return name, recipe_name(spec), stable
