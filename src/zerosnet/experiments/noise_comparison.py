"""Robustness to noise, compared fairly: relative to clean, at equal clean accuracy, and against effective depth.

A network whose scheme is not zero-stable is less accurate without noise too. So that a difference under noise is not
just this one again, everything here is relative to clean accuracy, or compares networks that are equally good. The unit
is a network, one wiring with the mean of its seeds.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from statistics import mean

from zerosnet.errors import InputError
from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.experiments.regression import Regression, regress
from zerosnet.experiments.run_networks import wired_name, wiring_of_run
from zerosnet.experiments.statistics import EQUAL, summarise
from zerosnet.numerics import Wiring, is_zero_stable, load_law
from zerosnet.training import RunSpec

PROTOCOL = "paper-noise"
NOISES = ("Gaussian 0.02", "Gaussian 0.04", "uniform [-0.08, 0]", "constant -0.4", "constant 0.4")
"""The noises that are looked at: the largest of every kind and sign, and a Gaussian one of half the size."""
DEPTH = "log of effective parameters"
ROOTS = "root condition"
CLEAN = "log of clean error"
LEARNED = 50.0
"""The least clean accuracy, in percent, of a network whose robustness is compared."""
LAYERS = "56"
"""Layers of most networks, which their names do not mention."""


@dataclass(frozen=True)
class NoisyNetwork:
    """A network that was measured under noise; accuracies are means over its runs, in percent.

    Attributes:
        scheme: Its scheme; if every block has one of its own, that of the last block.
        parameters: Effective parameters, D of the accuracy law, computed from the coefficients alone.
        depth: Effective depth, computed from the coefficients alone.
        noisy: Accuracy by noise.
        spec: The spec of its first run.
    """

    scheme: str
    zero_stable: bool
    depth: float
    parameters: float
    clean: float
    noisy: Mapping[str, float]
    runs: int
    spec: RunSpec | None = None

    @property
    def name(self) -> str:
        """The scheme, and what is unusual about the network."""
        if self.spec is None:
            return self.scheme
        layers = "".join(filter(str.isdigit, self.spec.model))
        return wired_name(self.spec, self.scheme) + (f", {layers} layers" if layers != LAYERS else "")

    @property
    def plain(self) -> bool:
        """True if all blocks have one scheme and one beta, and states are projected one by one."""
        return self.spec is None or not self.spec.rewired

    def loss(self, noise: str) -> float:
        """The part of the clean accuracy that a noise takes away, in percent."""
        return 100 * (self.clean - self.noisy[noise]) / self.clean


def noisy_networks(evidence: Evidence) -> list[NoisyNetwork]:
    """Collect the CIFAR-10 networks of recipe `paper` that were measured under noise, in order of clean accuracy.

    Networks that the accuracy law does not cover are left out, those in another arithmetic than usual, and those that
    did not learn.
    """
    groups: dict[Hashable, list[tuple[RunEvidence, Wiring, dict[str, float]]]] = {}
    wirings: dict[RunSpec, Wiring | None] = {}
    for run in evidence.runs:
        attack = run.attack(PROTOCOL) if _is_usual(run) else None
        if attack is None or not attack.rows:
            continue
        spec = replace(run.record.spec, seed=0)  # seeds share a wiring
        if spec not in wirings:
            wirings[spec] = wiring_of_run(spec)
        wiring = wirings[spec]
        if wiring is not None:
            accuracies = {row.label: 100 * row.accuracy for row in attack.rows if row.method == "noise"}
            accuracies["clean"] = next(100 * row.accuracy for row in attack.rows if row.method == "clean")
            groups.setdefault(_wired(run, wiring), []).append((run, wiring, accuracies))
    networks = [network for network in map(_network, groups.values()) if network.clean >= LEARNED]
    return sorted(networks, key=lambda network: network.clean)


def _is_usual(run: RunEvidence) -> bool:
    spec = run.record.spec
    usual = (spec.dataset, spec.recipe.name, spec.precision, spec.validation) == ("cifar10", "paper", None, None)
    return usual and not spec.changes


def _wired(run: RunEvidence, wiring: Wiring) -> Hashable:
    """Make a key that is equal for runs of the same wiring."""
    spec = run.record.spec
    scheme = None if spec.block_schemes is not None else run.scheme
    return scheme, wiring.counts, spec.stage_change, spec.beta_growth, spec.init_growth, spec.block_schemes


def _network(runs: Sequence[tuple[RunEvidence, Wiring, dict[str, float]]]) -> NoisyNetwork:
    first, wiring, labels = runs[0]
    spec = first.record.spec
    last = wiring.schemes()[-1]
    scheme = last if spec.block_schemes is not None or first.scheme is None else first.scheme
    accuracies = {name: mean(found[name] for *_, found in runs) for name in labels}
    return NoisyNetwork(
        str(scheme),
        bool(is_zero_stable(last)),
        wiring.effective_depth(),
        load_law().quantity(wiring),
        accuracies.pop("clean"),
        accuracies,
        len(runs),
        spec,
    )


def explain_loss(
    networks: Sequence[NoisyNetwork], noise: str, by: Sequence[str] = (DEPTH, ROOTS), *, relative: bool = True
) -> Regression:
    """Explain the loss under a noise, in percent of clean or in points, by depth, root condition, clean error.

    The clean error is known only after training.
    """
    columns = {
        CLEAN: [log(100 - network.clean) for network in networks],
        DEPTH: [log(network.parameters) for network in networks],
        ROOTS: [float(network.zero_stable) for network in networks],
    }
    unknown = [name for name in by if name not in columns]
    if unknown:
        raise InputError(f"by is {unknown[0]!r}; expected {' or '.join(columns)}")
    losses = [network.loss(noise) if relative else network.clean - network.noisy[noise] for network in networks]
    return regress(losses, {name: columns[name] for name in by})


@dataclass(frozen=True)
class Match:
    """A network that is not zero-stable beside all zero-stable ones that are as good, or as deep."""

    network: NoisyNetwork
    peers: tuple[NoisyNetwork, ...]

    def difference(self, noise: str) -> float:
        """Accuracy under noise less that of the peers, in points."""
        return self.network.noisy[noise] - mean(peer.noisy[noise] for peer in self.peers)

    @property
    def clean_difference(self) -> float:
        return self.network.clean - mean(peer.clean for peer in self.peers)


# how far two networks are apart, and how far peers may be: one point of accuracy, or a quarter more parameters in use
ALIKE: dict[str, tuple[Callable[[NoisyNetwork, NoisyNetwork], float], float]] = {
    "clean accuracy": (lambda one, other: abs(one.clean - other.clean), 1.0),
    "predicted depth": (lambda one, other: abs(log(one.parameters / other.parameters)), log(1.25)),
}


def match(networks: Iterable[NoisyNetwork], by: str = "clean accuracy") -> list[Match]:
    """Pair every network that is not zero-stable with the zero-stable ones of the same clean accuracy or depth.

    One without peers is left out. Peers may serve several networks.
    """
    if by not in ALIKE:
        raise InputError(f"by is {by!r}; expected {' or '.join(ALIKE)}")
    apart, most = ALIKE[by]
    everything = list(networks)
    stable = [one for one in everything if one.zero_stable]
    found = []
    for network in everything:
        peers = tuple(peer for peer in stable if apart(network, peer) <= most)
        if peers and not network.zero_stable:
            found.append(Match(network, peers))
    return found


@dataclass(frozen=True)
class MatchedDifference:
    """The difference of networks that are not zero-stable from zero-stable ones that are alike, with a 95 % interval.

    The interval takes matches for independent, which they are not quite: they share peers.
    """

    mean: float
    low: float
    high: float
    n: int

    @property
    def certain(self) -> bool:
        return not self.low <= 0 <= self.high

    @property
    def negligible(self) -> bool:
        """The interval lies within half a point: a test of equivalence."""
        return self.low > -EQUAL and self.high < EQUAL

    def __str__(self) -> str:
        return f"{self.mean:+.1f} ({self.low:+.1f} to {self.high:+.1f})"


def matched_difference(values: Sequence[float]) -> MatchedDifference | None:
    """Summarise differences by their mean and Student's interval; None if there are fewer than two."""
    found = summarise(values)
    if found is None or found.deviation is None:
        return None
    from scipy.special import stdtrit

    reach = float(stdtrit(found.n - 1, 0.975)) * found.deviation / sqrt(found.n)
    return MatchedDifference(found.mean, found.mean - reach, found.mean + reach, found.n)


def raw_difference(networks: Iterable[NoisyNetwork], noise: str) -> float:
    """The mean accuracy of networks that are not zero-stable less that of the others, in points."""
    everything = list(networks)
    others, stable = ([one.noisy[noise] for one in everything if one.zero_stable is side] for side in (False, True))
    return mean(others) - mean(stable)


def adjusted_difference(networks: Sequence[NoisyNetwork], noise: str) -> MatchedDifference:
    """The same at equal clean accuracy, by a regression of accuracy under noise on log(clean error) and the roots.

    So all networks are compared, and not only those that have peers. The logarithm makes the dependence straight.
    """
    columns = {
        "clean": [log(100 - network.clean) for network in networks],
        ROOTS: [float(not network.zero_stable) for network in networks],
    }
    found = regress([network.noisy[noise] for network in networks], columns)[ROOTS]
    return MatchedDifference(found.value, found.low, found.high, len(networks))
