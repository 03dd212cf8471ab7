"""The first screen: a headline, accuracy against what was predicted and against the roots, three numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from math import isclose, sqrt
from statistics import fmean

from zerosnet.experiments import LEARNED, parasitic_modulus, spearman
from zerosnet.numerics import Scheme, is_zero_stable, load_law
from zerosnet.report.page.chart import Chart, Series, figures
from zerosnet.report.page.configurations import SIDES, NetworkFacts
from zerosnet.report.page.html import Html, element, signed

LEAST = 4  # networks, below which there is nothing to compare
_ENOUGH = 10  # networks, for a headline about roots
_APART = 5.0  # points between two groups of networks
_SAME = 1e-6  # moduli that differ by less are equal
_DEEPER = 3.0  # blocks of effective depth between two networks of equal moduli
_PLACES = {True: 0, False: 1, None: 2}  # of colour and mark
_DEPTH, _PREDICTED = "effective depth, from the coefficients", "predicted from the coefficients, %"


@dataclass(frozen=True)
class LeadPoint:
    """A network in the first figure; accuracies in per cent. The modulus is None if no scheme is known."""

    name: str
    predictor: float
    modulus: float | None
    accuracy: float
    zero_stable: bool | None


@dataclass(frozen=True)
class LeadFigure:
    """The networks that the first figure shows, what they are, and what is on its left axis.

    Attributes:
        not_learned: Networks that were predicted and did not learn; a sentence names them.
    """

    points: Sequence[LeadPoint]
    what: str
    axis: str
    not_learned: Sequence[LeadPoint] = ()

    @property
    def is_accuracy(self) -> bool:
        """True if accuracies were predicted, and not only depths."""
        return self.axis == _PREDICTED


def find_lead(panels: Sequence[tuple[str, Sequence[NetworkFacts]]]) -> LeadFigure:
    """Choose the networks: those with a predicted accuracy; or the largest panel; or those that made the law.

    Args:
        panels: Networks that compare, with what they are.
    """
    predicted = [one for _, facts in panels for one in facts if one.predicted is not None]
    found = _points(predicted, lambda one: one.predicted)
    points = [one for one in found if one.accuracy >= LEARNED]
    if len(points) >= LEAST:
        others = [one for one in found if one.accuracy < LEARNED]
        return LeadFigure(points, f"{len(points)} networks on CIFAR-10 in these stores", _PREDICTED, others)
    deep = [(title, _points(facts, lambda one: one.effective_depth)) for title, facts in panels]
    title, points = max(deep, key=lambda panel: len(panel[1]), default=("", []))
    if len(points) >= LEAST:
        return LeadFigure(points, f"{len(points)} networks in these stores: {title}", _DEPTH)
    return _packaged()


def _points(facts: Sequence[NetworkFacts], predictor: Callable[[NetworkFacts], float | None]) -> list[LeadPoint]:
    points = []
    for one in facts:
        x = predictor(one)
        if x is not None and one.best is not None:
            network = one.configuration
            points.append(LeadPoint(network.full_name, x, one.modulus, one.best.mean, network.zero_stable))
    return points


def _packaged() -> LeadFigure:
    """The networks that the accuracy law was fitted on: they come with the package."""
    points = []
    for one in load_law().networks:
        scheme = Scheme.parse(one.scheme)
        stable = None if one.block_schemes else is_zero_stable(scheme)
        name = f"{one.label}, {2 * sum(one.blocks) + 2} layers"
        points.append(LeadPoint(name, one.left_out, parasitic_modulus(scheme), one.accuracy, stable))
    return LeadFigure(points, f"{len(points)} networks on CIFAR-10, measured when this package was made", _PREDICTED)


def headline(lead: LeadFigure) -> str:
    """What the figure shows, in one sentence."""
    parted = None if lead.is_accuracy else _parted(lead.points)
    if parted is not None:
        shallow, deep = (
            f"effective depth {_span([one.predictor for one in side])} gave {_span([one.accuracy for one in side])} %"
            for side in parted
        )
        return f"Alike but for their scheme: {shallow}, {deep}"
    by_predictor, by_modulus = _correlations(lead)
    if by_predictor > abs(by_modulus) + 0.05 and by_predictor > 0.5:
        return "How much of its depth a network uses predicts how well it does; its roots do not"
    if -by_modulus > abs(by_predictor) + 0.05 and len(lead.points) >= _ENOUGH:
        return "Here the roots of a scheme predict accuracy better than its effective depth"
    return "Does zero stability or effective depth predict how well a network does?"


def _parted(points: Sequence[LeadPoint]) -> tuple[Sequence[LeadPoint], Sequence[LeadPoint]] | None:
    """Part networks at the widest gap of effective depths; None if their accuracies do not lie apart, too."""
    ordered = sorted(points, key=lambda one: one.predictor)
    gaps = [after.predictor - before.predictor for before, after in pairwise(ordered)]
    place = gaps.index(max(gaps)) + 1
    shallow, deep = ordered[:place], ordered[place:]
    clear = min(one.accuracy for one in deep) >= max(one.accuracy for one in shallow) + _APART
    return (shallow, deep) if clear and min(len(shallow), len(deep)) > 1 else None


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def lead_section(lead: LeadFigure) -> list[Html]:
    """Headline, one paragraph, the two charts, three numbers."""
    words = (
        "Every block of a residual network is a step of a numerical scheme. Its coefficients alone tell how much every "
        "block adds, and so how many blocks count: the effective depth. The paper (Chen, Jin, Shang, AAAI 2022) looks "
        "at the roots of the scheme instead, and calls it zero-stable if none is outside the unit circle."
    )
    return [
        element("h1", headline(lead)),
        element("p", words, class_="lead"),
        element("div", figures(_charts(lead)), class_="first"),
        element("ul", (element("li", element("b", value), element("span", what)) for value, what in _numbers(lead)),
                class_="facts three"),
        *(element("p", words) for words in _not_learned(lead)),
    ]  # fmt: skip


def _not_learned(lead: LeadFigure) -> list[str]:
    """Name the networks that did not learn, and the error with them."""
    if not lead.not_learned:
        return []
    names = "; ".join(f"{one.name} ({one.accuracy:.1f} %, predicted {one.predictor:.1f} %)" for one in lead.not_learned)
    error = _error([*lead.points, *lead.not_learned])
    return [
        f"Not drawn or counted are networks that did not learn: {names}. With them the error is {error:.2f} points."
    ]


def _charts(lead: LeadFigure) -> list[Chart]:
    y = "measured test accuracy, %"
    left = f"{lead.what[0].upper()}{lead.what[1:]}"
    predictor = _series(lead.points, lambda one: one.predictor)
    if lead.is_accuracy:
        ends = [min(one.predictor for one in lead.points), max(one.predictor for one in lead.points)]
        exact = Series("exactly as predicted", [(end, end) for end in ends], 5, line=True, dashed=True, legend=False)
        predictor = [exact, *predictor]
    modulus = _series(lead.points, lambda one: one.modulus)
    about = f"{lead.what}. Accuracy from {min(p.accuracy for p in lead.points):.1f} to " + (
        f"{max(p.accuracy for p in lead.points):.1f} per cent."
    )
    first = Chart(left, lead.axis, y, predictor, about)
    second = Chart("The same networks against their roots", "largest parasitic modulus", y, modulus, about, at_x=1.0)
    return [first, second]


def _series(points: Sequence[LeadPoint], x: Callable[[LeadPoint], float | None]) -> list[Series]:
    found = []
    for kind, place in _PLACES.items():
        alike = [one for one in points if one.zero_stable is kind and x(one) is not None]
        if alike:
            places = [(float(x(one) or 0), one.accuracy) for one in alike]
            look = Series(SIDES[kind], places, place, place, line=False)
            found.append(replace(look, titles=[f"{one.name}: {one.accuracy:.1f} %" for one in alike]))
    return found


def _numbers(lead: LeadFigure) -> list[tuple[str, str]]:
    by_predictor, by_modulus = _correlations(lead)
    what = "the prediction" if lead.is_accuracy else "effective depth"
    ranks = [
        (signed(f"{by_predictor:+.2f}"), f"rank correlation of accuracy with {what}"),
        (signed(f"{by_modulus:+.2f}"), "the same with the largest parasitic modulus"),
    ]
    if lead.is_accuracy:
        return [(f"{_error(lead.points):.2f} points", "error of the predicted accuracy, root mean square"), *ranks]
    twins = _twins(lead.points)
    if twins is None:
        return ranks
    deep, shallow = twins
    difference = signed(f"{deep.accuracy - shallow.accuracy:+.1f} points")
    what = f"for effective depth {deep.predictor:.0f} in place of {shallow.predictor:.0f}, at equal moduli of the roots"
    return [*ranks, (difference, what)]


def _error(points: Sequence[LeadPoint]) -> float:
    return sqrt(fmean((one.predictor - one.accuracy) ** 2 for one in points))


def _twins(points: Sequence[LeadPoint]) -> tuple[LeadPoint, LeadPoint] | None:
    """Find the two networks that roots do not tell apart and depth does most, the deeper one first."""
    pairs = [
        (one, other)
        for one, other in permutations(points, 2)
        if one.zero_stable is other.zero_stable
        and one.modulus is not None
        and other.modulus is not None
        and isclose(one.modulus, other.modulus, abs_tol=_SAME)
        and one.predictor >= other.predictor + _DEEPER
    ]
    return max(pairs, key=lambda pair: pair[0].predictor - pair[1].predictor, default=None)


def _correlations(lead: LeadFigure) -> tuple[float, float]:
    rooted = [(one.modulus, one.accuracy) for one in lead.points if one.modulus is not None]
    predicted = [(one.predictor, one.accuracy) for one in lead.points]
    ranks = (spearman([x for x, _ in pairs], [y for _, y in pairs]) for pairs in (predicted, rooted))
    by_predictor, by_modulus = (0.0 if rank is None else rank.rho for rank in ranks)
    return by_predictor, by_modulus
