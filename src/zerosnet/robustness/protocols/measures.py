"""The measurements of the protocols: each function takes a subject and returns one `Measurement` per setting."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.files import is_number
from zerosnet.robustness.attacks.autoattack import require_classes, under_autoattack
from zerosnet.robustness.attacks.gradient import Attack, fgsm, pgd
from zerosnet.robustness.attacks.sanity import HUGE_EPS
from zerosnet.robustness.classifiers import require_count
from zerosnet.robustness.corruptions.regenerated import CORRUPTIONS, SEVERITIES
from zerosnet.robustness.perturbations.corruptions import (
    Corruptions,
    require_fitting,
    require_regenerable,
    under_corruptions,
    under_regenerated,
)
from zerosnet.robustness.perturbations.noises import NOISE_SEED, PAPER_NOISES, constant, random_signs
from zerosnet.robustness.protocols.attacked import Subject, passes_of, under_attack, under_noises, under_transfer
from zerosnet.robustness.protocols.names import SIGMA
from zerosnet.robustness.protocols.result import Measurement
from zerosnet.robustness.smoothing import ALPHA, GUESSES, SAMPLES, SEED, certify, require_samples

PAPER_EPS = (3 / 255, 5 / 255, 8 / 255)
SMALL_EPS = tuple(levels / 255 for levels in (0.25, 0.5, 1, 2))  # at which networks without defence have something left
WHITEBOX_EPS = SMALL_EPS + PAPER_EPS
SIGNED_EPS = (0.15, 0.3, 0.5)  # in [-1, 1], where they are twice what they are in [0, 1]
PAPER_IMAGES = 100
RESTARTS = 5
RADII = 16  # in steps of sigma / 5: to 3.2 sigma, about what 10,000 samples can certify


@dataclass(frozen=True)
class ProtocolOptions:
    """Options of a user: restarts of `pgd-whitebox`, number of images, the folder of corruptions.

    All images are taken by default, by `smoothing` 500 of them with 10,000 `samples` each. `dataset` names the data set
    whose corruptions are used. `eps` are radii in place of the protocol's own, kept in rising order.
    """

    restarts: int | None = None
    images: int | None = None
    corruptions: Corruptions | None = None
    dataset: str = "cifar10"
    eps: tuple[float, ...] | None = None
    samples: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("restarts", self.restarts), ("images", self.images)):
            if value is not None:
                require_count(name, value)
        if self.eps is not None:
            radii = self.eps if isinstance(self.eps, Sequence) else ()
            if not radii or any(not is_number(eps) or not 0 < eps < 1 for eps in radii):
                raise InputError(f"eps is {self.eps!r}; expected a list of numbers between 0 and 1, such as 8/255")
            object.__setattr__(self, "eps", tuple(sorted(set(self.eps))))
        if self.samples is not None:
            require_samples(self.samples)


def clean(target: Subject) -> Measurement:
    return Measurement(f"clean, {len(target)} images", "clean", under_noises(target, [constant(0)])[0])


def attacked(target: Subject, method: str, attack: Attack, right: Tensor, access: str, **settings: Any) -> Measurement:
    """Describe the outcome of a gradient attack, with all its settings."""
    label = f"{method}, {len(target)} images, eps {attack.eps:.4g}"
    return Measurement(label, method, right, access, attack.eps, attack.reach, attack.to_json() | settings)


def seen(target: Subject, method: str, attack: Attack, start: Measurement) -> Measurement:
    """Make a white-box attack; images that are wrong when clean (`start`) count as fooled."""
    return attacked(target, method, attack, under_attack(target, attack, resisting=start.right), "white-box")


def rising(target: Subject, method: str, attacks: Sequence[Attack], start: Measurement) -> list[Measurement]:
    """Make white-box attacks of rising radius, each of which keeps what smaller ones have found.

    A small perturbation is in every larger ball, so an image that was fooled stays fooled and is not attacked again.
    """
    standing, rows = start.right, []
    for attack in sorted(attacks, key=lambda attack: attack.eps):
        standing = under_attack(target, attack, resisting=standing)
        rows.append(attacked(target, method, attack, standing, "white-box", keeps_smaller_radii=True))
    return rows


def controls(target: Subject, start: Measurement, levels: tuple[float, ...]) -> list[Measurement]:
    """Measure what the sanity checks need: random signs of the same size, and a ball that holds plain grey."""
    signs = under_noises(target, [random_signs(eps) for eps in levels])
    settings = {"seed": NOISE_SEED}
    blind = [
        Measurement(f"random signs, eps {eps:.4g}", "random signs", right, "black-box", eps, eps, settings)
        for eps, right in zip(levels, signs)
    ]
    return [*blind, seen(target, "huge eps", pgd(HUGE_EPS, 20, step=HUGE_EPS / 10), start)]


def paper_noise(target: Subject, options: ProtocolOptions) -> list[Measurement]:
    right = under_noises(target, PAPER_NOISES)
    settings = {"seed": NOISE_SEED}
    noisy = [Measurement(n.label, "noise", r, settings=n.to_json() | settings) for n, r in zip(PAPER_NOISES, right)]
    return [clean(target), *noisy]


def paper_fgsm(target: Subject, options: ProtocolOptions) -> list[Measurement]:
    """Attack 100 images and all of them by FGSM, and all by PGD-20. What FGSM turns right counts as right, as in the
    source."""
    levels = tuple(signed / 2 for signed in SIGNED_EPS)
    # with the batch of all images a compiled network sees one shape, and is compiled once
    few = replace(target.chosen(PAPER_IMAGES), batch=target.batch)
    rows: list[Measurement] = []
    for part in (target,) if len(few) == len(target) else (few, target):
        rows.append(clean(part))
        for signed, eps in zip(SIGNED_EPS, levels):
            attack = fgsm(eps)
            row = attacked(part, "fgsm", attack, under_attack(part, attack), "white-box", eps_signed=signed)
            rows.append(replace(row, label=f"{row.label} ({signed:g} in [-1, 1])"))
    start = next(row for row in rows if row.method == "clean" and len(row.right) == len(target))
    stronger = rising(target, "pgd-20", [pgd(eps, 20) for eps in levels], start)
    return [*rows, *stronger, *controls(target, start, levels)]


def paper_pgd(target: Subject, options: ProtocolOptions) -> list[Measurement]:
    """Attack by examples of the surrogate; beside it the same attack, and a standard one, on the network itself."""
    start = clean(target)
    sources = [pgd(eps, 7, projection=False, random_start=False) for eps in PAPER_EPS]
    transferred = under_transfer(target, sources)
    return [
        start,
        *(attacked(target, "transfer", a, right, "black-box") for a, right in zip(sources, transferred)),
        *rising(target, "pgd-7 unprojected", sources, start),
        *rising(target, "fgsm", [fgsm(eps) for eps in PAPER_EPS], start),
        *rising(target, "pgd-20", [pgd(eps, 20) for eps in PAPER_EPS], start),
        *controls(target, start, PAPER_EPS),
    ]


def pgd_whitebox(target: Subject, options: ProtocolOptions) -> list[Measurement]:
    start, restarts, levels = clean(target), options.restarts or RESTARTS, options.eps or WHITEBOX_EPS
    rows = rising(target, "fgsm", [fgsm(eps) for eps in levels], start)
    for steps in (20, 50):
        rows += rising(target, f"pgd-{steps}", [pgd(eps, steps, restarts=restarts) for eps in levels], start)
    return [start, *rows, *controls(target, start, levels)]


def autoattack(target: Subject, options: ProtocolOptions) -> list[Measurement]:
    require_classes(target)
    start, levels = clean(target), options.eps or PAPER_EPS[-1:]
    settings = {"version": "standard", "norm": "linf", "seed": 1, "keeps_smaller_radii": True}
    rows = rising(target, "fgsm", [fgsm(eps) for eps in levels], start)
    rows += rising(target, "pgd-20", [pgd(eps, 20) for eps in levels], start)
    standing = start.right
    for eps in levels:
        standing = standing & under_autoattack(target, eps)
        rows.append(Measurement(f"AutoAttack, eps {eps:.4g}", "autoattack", standing, "white-box", eps, eps, settings))
    return [start, *rows, *controls(target, start, levels)]


def noise_passes(options: ProtocolOptions) -> int:
    """Count the passes of an image that `paper_noise` takes."""
    return 1 + len(PAPER_NOISES)


def fgsm_passes(options: ProtocolOptions) -> int:
    """Count the passes of an image that `paper_fgsm` takes, without those of its 100 images."""
    return 1 + _passes(SIGNED_EPS, fgsm(0.5), pgd(0.5, 20))


def pgd_passes(options: ProtocolOptions) -> int:
    """Count the passes of an image that `paper_pgd` takes at most."""
    return 1 + _passes(PAPER_EPS, pgd(0.5, 7), pgd(0.5, 7), fgsm(0.5), pgd(0.5, 20))


def whitebox_passes(options: ProtocolOptions) -> int:
    """Count the passes of an image that `pgd_whitebox` takes at most."""
    restarts = options.restarts or RESTARTS
    strong = (pgd(0.5, steps, restarts=restarts) for steps in (20, 50))
    return 1 + _passes(options.eps or WHITEBOX_EPS, fgsm(0.5), *strong)


def corruption_passes(options: ProtocolOptions) -> int:
    """Count the passes of an image that `corruptions` takes."""
    names = CORRUPTIONS if options.corruptions is None else options.corruptions.names
    return 1 + SEVERITIES * len(names)


def smoothing_passes(options: ProtocolOptions) -> int:
    """Count the passes of an image that `smoothing` takes."""
    return 1 + GUESSES + (options.samples or SAMPLES)


def _passes(levels: tuple[float, ...], *attacks: Attack) -> int:
    """Count the passes of attacks at every level, and of the controls."""
    return len(levels) * (passes_of(attacks) + 1) + passes_of([pgd(HUGE_EPS, 20, step=HUGE_EPS / 10)])


def corruptions(target: Subject, options: ProtocolOptions) -> list[Measurement]:
    if options.corruptions is not None:
        require_fitting(options.corruptions, target)
        return [clean(target), *under_corruptions(target, options.corruptions, options.images)]
    require_regenerable(target, options.dataset)
    return [clean(target), *under_regenerated(target)]


def corruption_notes(options: ProtocolOptions) -> tuple[str, ...]:
    """Note where the corrupted images are from."""
    if options.corruptions is not None:
        return (f"corruptions are published: read from the files in {options.corruptions.folder.name}",)
    return ("corruptions are regenerated: made by code; frost is a generated texture, outside the mean",)


def smoothing(target: Subject, options: ProtocolOptions, sigma: float = SIGMA) -> list[Measurement]:
    """Certify all images: certified accuracy over the radius, and how often it abstains."""
    samples = options.samples or SAMPLES
    found = certify(target, sigma, samples=samples)
    settings = {"sigma": sigma, "samples": samples, "guesses": GUESSES, "alpha": ALPHA, "norm": "l2", "seed": SEED}
    certified = [
        Measurement(
            f"certified, radius {radius:.4g}",
            "certified",
            found.certified(target.labels, radius),
            eps=radius,
            settings=settings,
        )
        for radius in (step * sigma / 5 for step in range(RADII + 1))
    ]
    return [clean(target), *certified, Measurement("abstained", "abstained", found.abstained, settings=settings)]
