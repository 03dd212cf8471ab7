"""Sanity checks of adversarial accuracies: each one is a way in which an attack can be found broken.

After Carlini et al., "On evaluating adversarial robustness" (2019) and Athalye et al. (2018): a defence that only hides
its gradients shows itself by a black-box attack that beats the white-box one, by steps that do not help, or by images
that survive in a ball as large as the image space.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from zerosnet.robustness.result import Check, Row

HUGE_EPS = 0.5  # every image can be turned to plain grey
ABOUT_ZERO = 0.02
CONTROLS = ("random signs", "huge eps")  # measured for the other checks; they are no attacks that must improve with eps


def chance(row: Row) -> int:
    """One image in a thousand, and at least one image: less is no evidence."""
    return max(1, row.images // 1000)


def clearly_more(one: Row, other: Row) -> bool:
    """Whether the first row has more right than the second, of as many images."""
    return one.correct > other.correct + chance(one)


def sanity_checks(rows: Sequence[Row], num_classes: int, known_accuracy: float | None = None) -> tuple[Check, ...]:
    """All checks that these rows of one network allow; `known_accuracy` is what its training measured when clean."""
    return (
        units(rows),
        clean_accuracy(rows, num_classes, known_accuracy),
        falls_with_eps(rows),
        pgd_not_weaker_than_fgsm(rows),
        huge_eps_fools_everything(rows),
        black_box_not_stronger(rows),
    )


def units(rows: Sequence[Row]) -> Check:
    """eps and step are in [0, 1] units, and all steps together are long enough to reach the border of the ball."""
    attacks = [
        (row.eps, row.settings["step"], row.settings["steps"]) for row in rows if row.eps and "step" in row.settings
    ]
    good = all(0 < step <= eps <= 1 and steps * step >= eps for eps, step, steps in attacks)
    sizes = sorted({(eps, step) for eps, step, _ in attacks})
    return Check("eps and step in [0, 1] units", good, ", ".join(f"{eps:.4g} by {step:.4g}" for eps, step in sizes))


def clean_accuracy(rows: Sequence[Row], num_classes: int, known: float | None) -> Check:
    """The network is better than chance when clean, and as good as its training found it, within 1 %."""
    full = max((row for row in rows if row.method == "clean"), key=lambda row: row.images)
    good, detail = full.accuracy > 1.5 / num_classes, f"{full.accuracy:.2%} on {full.images} images"
    if known is not None:
        good = good and abs(full.accuracy - known) <= 0.01 + chance(full) / full.images
        detail += f"; in training {known:.2%}"
    return Check("clean accuracy", good, detail)


def falls_with_eps(rows: Sequence[Row]) -> Check:
    """No attack leaves a higher accuracy at a larger eps."""
    methods: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row.access is not None and row.method not in CONTROLS:
            methods[row.method, row.images].append(row)
    faults = []
    for (method, images), levels in methods.items():
        clean = [row for row in rows if row.method == "clean" and row.images == images]
        levels = [*clean, *sorted(levels, key=lambda row: row.eps or 0)]
        for before, after in pairwise(levels):
            if clearly_more(after, before):
                faults.append(f"{method} {before.accuracy:.2%} at {before.eps or 0:.4g}, {_at(after)}")
    return _check("accuracy falls with eps", faults)


def pgd_not_weaker_than_fgsm(rows: Sequence[Row]) -> Check:
    """Where both saw the gradients and had the same reach, PGD leaves no more than FGSM does."""
    fgsm = [row for row in rows if row.method == "fgsm"]
    pgd = [row for row in rows if row.method.startswith("pgd") and row.access == "white-box"]
    faults = [
        f"{weak.method} {_at(weak)}, fgsm {_at(strong)}"
        for strong in fgsm
        for weak in pgd
        if _comparable(strong, weak) and clearly_more(weak, strong)
    ]
    return _check("PGD not weaker than FGSM", faults)


def huge_eps_fools_everything(rows: Sequence[Row]) -> Check:
    """In a ball that holds plain grey for every image about nothing is left."""
    left = [row for row in rows if row.method == "huge eps"]
    faults = [_at(row) for row in left if row.correct > ABOUT_ZERO * row.images + chance(row)]
    return _check(f"eps {HUGE_EPS} leaves about nothing", faults)


def black_box_not_stronger(rows: Sequence[Row]) -> Check:
    """An attack that did not see the gradients fools no more than the best that did, with the same reach."""
    faults = []
    for blind in (row for row in rows if row.access == "black-box"):
        seeing = [row for row in rows if row.access == "white-box" and _comparable(row, blind)]
        best = min(seeing, key=lambda row: row.accuracy, default=None)
        if best is not None and clearly_more(best, blind):
            faults.append(f"{blind.method} {_at(blind)}, {best.method} {_at(best)}")
    return _check("black box not stronger than white box", faults)


def _comparable(one: Row, other: Row) -> bool:
    return one.reach == other.reach and one.images == other.images


def _at(row: Row) -> str:
    return f"{row.accuracy:.2%} at {row.eps or 0:.4g}"


def _check(name: str, faults: Iterable[str]) -> Check:
    found = list(faults)
    return Check(name, not found, "; ".join(found) or "as it should be")
