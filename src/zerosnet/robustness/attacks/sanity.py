"""Sanity checks of adversarial accuracies: each one is a way in which an attack can be found broken.

After Carlini et al., "On evaluating adversarial robustness" (2019) and Athalye et al. (2018): a defence that only hides
its gradients shows itself by a black-box attack that beats the white-box one, by steps that do not help, or by images
that survive in a ball as large as the image space.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Any

from zerosnet.robustness.protocols.result import Check, ResultRow

HUGE_EPS = 0.5  # every image can be turned to plain grey
ABOUT_ZERO = 0.02
CONTROLS = ("random signs", "huge eps")  # measured for the other checks; they are no attacks that must improve with eps

Pair = tuple[ResultRow, ResultRow]
"""A row, and one than which it must not have clearly more right."""


def chance(row: ResultRow) -> int:
    """Return the number of images that may differ by chance: one in a thousand, and at least one."""
    return max(1, row.images // 1000)


def clearly_more(one: ResultRow, other: ResultRow) -> bool:
    """Check if the first row has more images right than the second, beyond chance."""
    return one.correct > other.correct + chance(one)


def sanity_checks(
    rows: Sequence[ResultRow], num_classes: int, known_accuracy: float | None = None
) -> tuple[Check, ...]:
    """Make all checks of one network's rows; `known_accuracy` is what its training measured when clean.

    A check for which there are no rows is reported as not made: it has neither passed nor failed.
    """
    return (
        units(rows),
        clean_accuracy(rows, num_classes, known_accuracy),
        falls_with_eps(rows),
        pgd_not_weaker_than_fgsm(rows),
        more_steps_not_weaker(rows),
        huge_eps_fools_everything(rows),
        black_box_not_stronger(rows),
    )


def units(rows: Sequence[ResultRow]) -> Check:
    """eps and step are in [0, 1] units, and all steps together are long enough to reach the border of the ball.

    Only in L-infinity is a radius of more than 1 a sign of other units.
    """
    name = "eps and step in [0, 1] units"
    attacks = [(row.eps, row.settings) for row in rows if row.eps and "step" in row.settings]
    if not attacks:
        return _not_made(name, "no attack has steps")
    good = all(
        0 < attack["step"] <= eps <= attack["steps"] * attack["step"]
        and (eps <= 1 or attack.get("norm", "linf") != "linf")
        for eps, attack in attacks
    )
    sizes = sorted({(eps, attack["step"]) for eps, attack in attacks})
    return Check(name, good, ", ".join(f"{eps:.4g} by {step:.4g}" for eps, step in sizes))


def clean_accuracy(rows: Sequence[ResultRow], num_classes: int, known: float | None) -> Check:
    """The network is better than chance when clean, and as good as its training found it, within one point."""
    full = max((row for row in rows if row.method == "clean"), key=lambda row: row.images)
    good, detail = full.accuracy > 1.5 / num_classes, f"{full.accuracy:.2%} on {full.images} images"
    if known is not None:
        good = good and abs(full.accuracy - known) <= 0.01 + chance(full) / full.images
        detail += f"; in training {known:.2%}"
    return Check("clean accuracy", good, detail)


def falls_with_eps(rows: Sequence[ResultRow]) -> Check:
    """No attack leaves a higher accuracy at a larger eps; by construction if it keeps what smaller ones found."""
    methods: dict[tuple[str, int], list[ResultRow]] = defaultdict(list)
    for row in rows:
        if row.access is not None and row.method not in CONTROLS:
            methods[row.method, row.images].append(row)
    pairs: list[Pair] = []
    for (_, images), levels in methods.items():
        clean = [row for row in rows if row.method == "clean" and row.images == images]
        levels = [*clean, *sorted(levels, key=lambda row: row.eps or 0)]
        pairs += [(after, before) for before, after in pairwise(levels)]
    return _compare("accuracy falls with eps", pairs, "no attack at two levels")


def pgd_not_weaker_than_fgsm(rows: Sequence[ResultRow]) -> Check:
    """PGD leaves no more than FGSM, if both saw the gradients and had the same reach."""
    fgsm = [row for row in rows if row.method == "fgsm"]
    pgd = [row for row in rows if row.method.startswith("pgd") and row.access == "white-box"]
    pairs = [(many, one) for one in fgsm for many in pgd if _comparable(one, many)]
    return _compare("PGD not weaker than FGSM", pairs, "no PGD and FGSM of the same reach")


def more_steps_not_weaker(rows: Sequence[ResultRow]) -> Check:
    """The same white-box attack leaves no more with more steps than with fewer."""
    stepped = [row for row in rows if row.access == "white-box" and "steps" in row.settings]
    pairs = [
        (more, fewer)
        for more, fewer in permutations(stepped, 2)
        if more.settings["steps"] > fewer.settings["steps"]
        and _comparable(more, fewer)
        and _but_for_steps(more) == _but_for_steps(fewer)
    ]
    return _compare("more steps not weaker than fewer", pairs, "no attack with two numbers of steps")


def huge_eps_fools_everything(rows: Sequence[ResultRow]) -> Check:
    """About nothing is left in a ball that holds plain grey for every image."""
    name, left = f"eps {HUGE_EPS} leaves about nothing", [row for row in rows if row.method == "huge eps"]
    if not left:
        return _not_made(name, "no attack of that eps")
    return _found(name, [_at(row) for row in left if row.correct > ABOUT_ZERO * row.images + chance(row)])


def black_box_not_stronger(rows: Sequence[ResultRow]) -> Check:
    """An attack that did not see the gradients fools no more than the best that did, with the same reach."""
    pairs: list[Pair] = []
    for blind in (row for row in rows if row.access == "black-box"):
        seeing = [row for row in rows if row.access == "white-box" and _comparable(row, blind)]
        if seeing:
            pairs.append((min(seeing, key=lambda row: row.accuracy), blind))
    return _compare("black box not stronger than white box", pairs, "no black box and white box of the same reach")


def _compare(name: str, pairs: Sequence[Pair], lacking: str) -> Check:
    if not pairs:
        return _not_made(name, lacking)
    faults = [(weak, strong) for weak, strong in pairs if clearly_more(weak, strong)]
    return _found(name, [f"{weak.method} {_at(weak)}, {strong.method} {_at(strong)}" for weak, strong in faults])


def _found(name: str, faults: Sequence[str]) -> Check:
    return Check(name, not faults, "; ".join(faults) or "as it should be")


def _not_made(name: str, lacking: str) -> Check:
    return Check(name, None, lacking)


def _comparable(one: ResultRow, other: ResultRow) -> bool:
    return one.reach == other.reach and one.images == other.images


def _but_for_steps(row: ResultRow) -> dict[str, Any]:
    return {key: value for key, value in row.settings.items() if key != "steps"}


def _at(row: ResultRow) -> str:
    return f"{row.accuracy:.2%} at {row.eps or 0:.4g}"
