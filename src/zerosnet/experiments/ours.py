"""Experiments of our own: data that need depth, two hundred schemes in place of ten, pairs that differ in little."""

import math
from fractions import Fraction

from zerosnet.experiments.definition import Experiment, TableRow
from zerosnet.experiments.paper.accuracy import TEST
from zerosnet.experiments.paper.declare import cells, table
from zerosnet.experiments.scales import TrainingPlan
from zerosnet.numerics import (
    OPTIMUM,
    PAPER_ROWS,
    Scheme,
    forecast,
    from_roots,
    is_consistent,
    monic_from_roots,
    root_condition,
)

LAYERS = 56
SAME_MODULI = ("from-roots(3/5, 3/5)", "from-roots(-3/5, -3/5)")
"""Two zero-stable schemes whose roots differ by sign only, and whose effective depths are far apart."""
COMPLEX, REAL, RADIUS = 160, 40, 1.5
_GOLDEN = (math.sqrt(5) - 1) / 2
_PLASTIC = (0.7548776662466927, 0.5698402909980532)  # steps of the two-dimensional low-discrepancy sequence


def mosaics() -> Experiment:
    """Networks that are alike but for the four numbers of their scheme, on embedded data that need depth."""
    lines = []
    schemes = [*(row.scheme for row in PAPER_ROWS if is_consistent(row.scheme)), *map(Scheme.parse, SAME_MODULI)]
    depth = {scheme: forecast(scheme, LAYERS).effective_depth for scheme in schemes}
    for scheme in sorted(schemes, key=depth.__getitem__):
        stable = root_condition(scheme).zero_stable
        labels = (scheme.name, "Yes" if stable else "No", f"{depth[scheme]:.1f}")
        row = TableRow(scheme.name, labels, scheme, stable, f"{LAYERS} layers", True)
        plan = TrainingPlan(f"zerosnet{LAYERS}", "mosaics", "quick", scheme, demo_seeds=1)
        lines.append((row, cells(row, {}, plan, TEST)))
    return Experiment(
        name="mosaics",
        title="Consistent schemes on data that need depth",
        reference="ours",
        what=f"test accuracy on mosaics (8 x 8 pixels, eight classes) of {LAYERS} layers, %",
        **table(("scheme", "Z. S.", "effective depth"), TEST, lines),
        compared="accuracy with the effective depth, which is computed from the coefficients before training",
        notes=(
            "the paper's six consistent schemes, and two more that are zero-stable with the same moduli of roots",
            "the networks have the same layers, initial weights, recipe, and images in the same order; they differ in "
            "the four coefficients of their scheme",
        ),
    )


def scan_disc() -> Experiment:
    """All schemes are consistent and have three steps; what is scanned are the two parasitic roots."""
    lines = []
    for number, scheme in enumerate(disc_schemes()):
        verdict = root_condition(scheme)
        parasitic = verdict.parasitic_roots
        labels = (f"{number:03d}", ", ".join(map(_root_text, parasitic)), f"{max(map(abs, parasitic)):.3f}")
        row = TableRow(
            labels[0], (*labels, "Yes" if verdict.zero_stable else "No"), scheme, verdict.zero_stable, "disc", True
        )
        lines.append((row, cells(row, {}, TrainingPlan("zerosnet20", scheme=scheme), TEST)))
    return Experiment(
        name="scan-disc",
        title="Two hundred consistent schemes over the disc of parasitic roots",
        reference="ours",
        what="test accuracy on CIFAR-10 of 20 layers, %",
        **table(("scheme", "parasitic roots", "largest modulus", "Z. S."), TEST, lines),
        compared="rank correlation of accuracy with the largest parasitic modulus, with beta and with effective depth",
        notes=(
            f"{COMPLEX} conjugate pairs with radii evenly from 0 to {RADIUS} and {REAL} real pairs in "
            f"[-{RADIUS}, {RADIUS}]; beta = (1 - r1)(1 - r2) follows from consistency",
        ),
        seeds=(1,),
    )


def disc_schemes() -> list[Scheme]:
    """The same two hundred at any time, with exact coefficients: roots rounded to three decimals first."""
    schemes = []
    for n in range(COMPLEX):
        radius, angle = RADIUS * (n + 0.5) / COMPLEX, math.pi * ((n + 1) * _GOLDEN % 1)
        b, c = _exact(-2 * radius * math.cos(angle)), _exact(radius**2)
        schemes.append(from_roots([(b, c)]))
    for n in range(REAL):
        pair = [_exact(RADIUS * (2 * ((n + 1) * step % 1) - 1)) for step in _PLASTIC]
        schemes.append(from_roots(pair))
    return schemes


def _exact(value: float) -> Fraction:
    return Fraction(round(1000 * value), 1000)


def _root_text(root: complex) -> str:
    return f"{root.real:.2f}" if abs(root.imag) < 1e-9 else f"{root.real:.2f}{root.imag:+.2f}i"


# -- pairs -------------------------------------------------------------------------------------------------------------


def _scheme(roots: list[str], beta: str | None = None, principal: str = "1") -> Scheme:
    """The scheme with these parasitic roots; beta by consistency, unless given."""
    if principal == "1" and beta is None:
        return from_roots(roots)
    rho = monic_from_roots([principal, *roots])
    return Scheme([-c for c in rho[1:]], [beta if beta is not None else from_roots(roots).betas[0]])


_BEST = ["-1/3", "-1/3"]
PAIRS: dict[str, tuple[tuple[str, Scheme], tuple[str, Scheme]]] = {
    "stability, with the same beta 16/9": (
        ("zero-stable, consistent", _scheme(_BEST)),
        ("not zero-stable, consistent", _scheme(["-6/5", "19/99"])),
    ),
    "stability, with the same beta 1/2": (
        ("zero-stable, consistent", Scheme.parse("zerosnet(1/2)")),
        ("not zero-stable, consistent", _scheme(["-6/5", "17/22"])),
    ),
    "stability and a little of beta, just across the circle": (
        ("zero-stable, parasitic root -0.95, beta 1.95", _scheme(["-19/20", "0"])),
        ("not zero-stable, parasitic root -1.05, beta 2.05", _scheme(["-21/20", "0"])),
    ),
    "consistency, with the same other roots and beta": (
        ("consistent, principal root 1", _scheme(_BEST)),
        ("not consistent, principal root 0.9", _scheme(_BEST, principal="9/10")),
    ),
    "size of beta and so consistency, optimum": (
        ("beta 16/9, consistent", _scheme(_BEST)),
        ("beta 16/90, not consistent", _scheme(_BEST, beta="16/90")),
    ),
    "size of beta, a row of the paper": (
        ("beta 0.1, as in the paper", Scheme.parse("0.5,0.3,0.1;0.1")),
        ("beta 1", Scheme.parse("0.5,0.3,0.1;1")),
    ),
    "stability and size of beta, with little effective depth": (
        ("zero-stable, f drowned by beta 1e-6", _scheme(_BEST, beta="1/1000000")),
        ("not zero-stable, f drowned by growth", Scheme.parse("1,1,1;1")),
    ),
}
"""Pairs of schemes, by what they differ in: stability, consistency or beta."""


def pairs() -> Experiment:
    lines = []
    for difference, both in PAIRS.items():
        for what, scheme in both:
            stable = root_condition(scheme).zero_stable
            labels = (difference, what, str(scheme), "Yes" if stable else "No")
            row = TableRow(f"{difference}: {what}", labels, scheme, stable, difference, True)
            training = (
                TrainingPlan("zerosnet56_opt") if scheme == OPTIMUM else TrainingPlan("zerosnet56", scheme=scheme)
            )
            lines.append((row, cells(row, {}, training, TEST)))
    return Experiment(
        name="pairs",
        title="Pairs that separate stability, consistency, the size of beta and effective depth",
        reference="ours",
        what="test accuracy on CIFAR-10 of 56 layers, %",
        **table(("what differs", "scheme", "coefficients", "Z. S."), TEST, lines),
        compared="the two rows of a pair, by Welch's interval",
        notes=(
            "the paper's ten rows change stability, consistency and beta together; each pair here changes those of the "
            "three that its name says and keeps the others: three pairs change two",
            "in the two pairs with the same beta the order changes as well, from 2 to 1, and the other parasitic root",
            "in the last pair both networks have little to add to their state, one of them zero-stable; it decides "
            "something only if both use as many blocks",
        ),
    )
